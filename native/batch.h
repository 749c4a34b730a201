// A batch of trees on the CPU, free of Python: what the bindings call.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "solver.h"

namespace spinney {

struct Family {
    bool projective;
    bool single_root;
};

// The scores of a padded batch, as the caller's array holds them.
struct TreeScores {
    const double* data;      // (batch, n, n + 1)
    const int64_t* lengths;  // (batch)
    int64_t batch;
    int64_t words;  // n

    std::string where(int64_t b, int i, int h) const {
        return "scores[" + std::to_string(b) + ", " + std::to_string(i) + ", " + std::to_string(h) +
               "] (arc " + std::to_string(h) + " -> " + std::to_string(i + 1) + ")";
    }

    std::string shape() const {
        return "scores has shape (" + std::to_string(batch) + ", " + std::to_string(words) + ", " +
               std::to_string(words + 1) + ")";
    }

    std::string shapes(int64_t b) const {
        return shape() + ", instance " + std::to_string(b) + " has length " +
               std::to_string(lengths[b]);
    }

    int length(int64_t b) const {
        int64_t n = lengths[b];
        if (n < 1 || n > words)
            throw std::invalid_argument("lengths[" + std::to_string(b) + "] is " +
                                        std::to_string(n) + ", expected 1 to " +
                                        std::to_string(words) + "; " + shape());
        if (n > 30000)
            throw std::invalid_argument("sentences of more than 30000 words are not supported; " +
                                        shapes(b));
        return static_cast<int>(n);
    }

    // Copies instance b, divided by the temperature, to (length, length + 1). Each row is shifted
    // to maximum 0: every word has one head, so nothing changes but the rounding, and the arcs
    // that compete lose none of their digits to a large common score. Returns the range.
    double read(int64_t b, double temperature, double* out) const {
        int n = length(b);
        if (!(temperature > 0) || std::isinf(temperature))
            throw std::invalid_argument("temperature[" + std::to_string(b) + "] is " +
                                        std::to_string(temperature) +
                                        ", expected a positive finite number");
        double lowest = 0, highest = 0;
        bool any = false;
        for (int i = 0; i < n; ++i) {
            const double* row = data + (b * words + i) * (words + 1);
            double* to = out + int64_t(i) * (n + 1);
            double top = kForbidden;
            for (int h = 0; h <= n; ++h) {
                double s = h == i + 1 ? kForbidden : row[h] / temperature;
                if (!(s <= kLargest && (s >= -kLargest || s == kForbidden)))
                    reject(b, i, h, row[h]);
                to[h] = s;
                if (s > top) top = s;
                if (s == kForbidden) continue;
                if (!any || s < lowest) lowest = s;
                if (!any || s > highest) highest = s;
                any = true;
            }
            if (top == kForbidden)
                throw std::invalid_argument("instance " + std::to_string(b) +
                                            ": all heads of word " + std::to_string(i + 1) +
                                            " are forbidden (-inf); " + shapes(b));
            for (int h = 0; h <= n; ++h) to[h] -= top;
        }
        return highest - lowest;
    }

    [[noreturn]] void no_tree(int64_t b) const {
        throw std::invalid_argument("instance " + std::to_string(b) +
                                    ": the forbidden arcs (-inf) leave no tree; " + shapes(b));
    }

  private:
    // Sums of this many scores still fit in a double with room to spare.
    static constexpr double kLargest = 1e200;

    [[noreturn]] void reject(int64_t b, int i, int h, double score) const {
        const char* what = std::isnan(score)   ? " is NaN"
                           : std::isinf(score) ? " is +inf"
                                               : " / temperature is beyond 1e200";
        throw std::invalid_argument(where(b, i, h) + what + "; " + shapes(b));
    }
};

// The posterior of one instance.
struct Solution {
    int words = 0;
    std::vector<int16_t> codes;   // (size, words)
    std::vector<double> weights;  // (size)
    std::vector<double> factor;   // packed lower triangle
    double gap = 0;
    bool converged = false;
    int calls = 0;
    int64_t size() const { return static_cast<int64_t>(weights.size()); }
};

// Writes the highest-scoring tree of every instance to heads (batch, n).
void argmax(const TreeScores& scores, Family family, int threads, int64_t* heads);

// SparseMAP of every instance at its temperature.
std::vector<Solution> solve(const TreeScores& scores, const double* temperature, Family family,
                            Limits limits, int threads);

// A batch of posteriors as the caller's arrays hold them.
struct TreePosteriors {
    const int64_t* structures;  // (total, n)
    const int64_t* sizes;       // (batch)
    const int64_t* lengths;     // (batch)
    const double* factor;       // packed lower triangles, one after the other
    int64_t batch;
    int64_t words;  // n
};

// out_weights (total) and out_parts (batch, n, n + 1, zeroed before) as in jacobian.h.
void apply_jacobians(const TreePosteriors& posteriors, const double* on_weights,
                     const double* on_parts, int threads, double* out_weights, double* out_parts);

}  // namespace spinney
