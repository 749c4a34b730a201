// The best score of what leads to each cell of a recursion, which is subtracted before sums are
// taken: structures/recursions/shifted.py says why.
#pragma once

#include <algorithm>
#include <cstdint>

#include "families/step_set.h"
#include "sums/numbers.h"

namespace sparsewood {

// The best walk from the first cell to each cell of (rows, columns).
inline void path_potentials(const double* scores, int64_t rows, int64_t columns, double* out) {
    for (int64_t i = 0; i < rows; ++i, scores += columns, out += columns) {
        const double* above = out - columns;
        for (int64_t j = 0; j < columns; ++j) {
            double best = i + j == 0 ? 0 : 2 * kNone;
            if (j > 0) best = out[j - 1];
            if (i > 0) best = std::max(best, above[j]);
            if (i > 0 && j > 0) best = std::max(best, above[j - 1]);
            out[j] = best + scores[j];
        }
    }
}

// The best path to each cell of (rows, columns) by steps; 2 kNone and less where none leads.
inline void step_potentials(const double* scores, int64_t rows, int64_t columns, int64_t bits,
                            double* out) {
    StepSet steps;
    steps.read(bits);
    for (int64_t i = 0; i < rows; ++i, scores += columns, out += columns)
        for (int64_t j = 0; j < columns; ++j) {
            bool is_start = j == 0 && (i == 0 || (i == 1 && steps.blanks));
            double best = is_start ? 0 : 2 * kNone;
            for (int s = 0; s < steps.count; ++s) {
                int64_t down = steps.down[s], right = steps.right[s];
                if (down <= i && right <= j && steps.leads_to(s, static_cast<int>(i)))
                    best = std::max(best, out[j - right - down * columns]);
            }
            out[j] = best + scores[j];
        }
}

// The best set of increasing cells above and left of each corner, (rows + 1, columns + 1).
inline void gap_potentials(const double* scores, int64_t rows, int64_t columns, double* out) {
    std::fill(out, out + columns + 1, 0.0);
    for (int64_t i = 0; i < rows; ++i, scores += columns) {
        const double* above = out;
        out += columns + 1;
        out[0] = 0;
        double last = kNone;
        for (int64_t j = 0; j < columns; ++j) {
            last = std::max(last, above[j] + scores[j]);
            out[j + 1] = std::max(above[j + 1], last);
        }
    }
}

// The best prefixes before each label starts, (steps, labels), and ends, (steps + 1, labels), of
// scores (steps, labels, longest + labels).
inline void segment_potentials(const double* scores, int64_t steps, int64_t labels, int64_t longest,
                               double* starts, double* ends) {
    int64_t width = longest + labels;
    std::fill(ends, ends + labels, 0.0);
    std::fill(ends + labels, ends + (steps + 1) * labels, kNone);
    for (int64_t t = 0; t < steps; ++t)
        for (int64_t k = 0; k < labels; ++k) {
            const double *row = scores + (t * labels + k) * width, *before = ends + t * labels;
            double best = t > 0 ? 2 * kNone : 0;
            for (int64_t j = 0; t > 0 && j < labels; ++j)
                best = std::max(best, before[j] + row[longest + j]);
            starts[t * labels + k] = best;
            for (int64_t d = 0; d < std::min(longest, steps - t); ++d) {
                double& end = ends[(t + d + 1) * labels + k];
                end = std::max(end, best + row[d]);
            }
        }
}

}  // namespace sparsewood
