// The sum over the spanning trees of a sentence and its derivative, by elimination without
// subtractions: as in structures/recursions/elimination.py, but on weights instead of logarithms.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "group/interrupt.h"
#include "group/wide.h"
#include "sums/exponential.h"

namespace sparsewood {

// Between these bounds, numbers of an elimination are far enough from underflow and overflow that
// lost terms are negligible.
constexpr double kTiny = 1e-100, kHuge = 1e100;

class TreeSums {
  public:
    TreeSums(int n, bool single_root) : n_(n), width_(n + 1), single_root_(single_root) {
        size_t cells = static_cast<size_t>(n) * static_cast<size_t>(width_);
        table_.resize(cells), slopes_.resize(cells), by_column_.resize(cells);
        totals_.resize(static_cast<size_t>(n)), on_shares_.resize(static_cast<size_t>(width_));
    }

    // The sum over the trees of the first `words` words; scores and marginals have rows of n + 1.
    // False if weights underflow. NaN propagates.
    SPARSEWOOD_INLINE bool operator()(const double* scores, int words, double* marginals,
                                      double& log_sum) {
        log_sum = weigh(scores, words, marginals);
        bool good = eliminate(words, log_sum);
        if (good) differentiate(words, marginals);
        return good;
    }

  private:
    SPARSEWOOD_INLINE double* row(std::vector<double>& of, int i) {
        return of.data() + static_cast<size_t>(i) * static_cast<size_t>(width_);
    }
    SPARSEWOOD_INLINE double* column(int j) {
        return by_column_.data() + static_cast<size_t>(j) * static_cast<size_t>(n_);
    }

    // Writes weights to the table and `marginals`, each row divided by its maximum, and with a
    // single root also the column of the root: every tree has one entry of each. Returns the
    // logarithm of the product of the divisors.
    SPARSEWOOD_INLINE double weigh(const double* scores, int words, double* marginals) {
        double scale = 0, best_root = -HUGE_VAL;
        for (int i = 0; i < words; ++i) {
            const double* from = scores + int64_t(i) * width_;
            double top = from[0];
            for (int j = 1; j <= words; ++j) top = std::max(top, from[j]);
            scale += top;
            totals_[static_cast<size_t>(i)] = top;
            best_root = std::max(best_root, from[0] - top);
        }
        if (single_root_) scale += best_root;
        for (int i = 0; i < words; ++i) {
            const double* from = scores + int64_t(i) * width_;
            double* to = marginals + int64_t(i) * width_;
            double top = totals_[static_cast<size_t>(i)];
            for (int j = 0; j <= words; ++j) to[j] = exp_of_negative(from[j] - top);
            if (single_root_) to[0] = exp_of_negative(from[0] - top - best_root);
            std::copy(to, to + words + 1, row(table_, i));
        }
        return scale;
    }

    // Eliminates words, the last first. At the end row k holds the shares of its heads among the
    // root and the words before it; entry (i, k + 1), i < k, holds its value when k was eliminated.
    // With a single root the total of a row excludes the root, which only the first word is
    // attached to.
    SPARSEWOOD_INLINE bool eliminate(int words, double& log_sum) {
        for (int k = words - 1; k >= 0; --k) {
            if (k % 16 == 15) poll();
            double* shares = row(table_, k);
            double total = single_root_ && k > 0 ? 0 : shares[0];
            for (int j = 1; j <= k; ++j) total += shares[j];
            if (total < kTiny || total > kHuge || shares[0] > kHuge * total) return false;
            totals_[static_cast<size_t>(k)] = total;
            log_sum += std::log(total);
            double inverse = 1 / total;
            for (int j = 0; j <= k; ++j) shares[j] *= inverse;
            for (int i = 0; i < k; ++i) {
                double* heads = row(table_, i);
                add(shares, heads[k + 1], k + 1, heads);
            }
        }
        return true;
    }

    // The reverse pass, for the derivatives with respect to all weights; multiplied by the weights
    // they are the marginals. Stored by row and by column, so that both sums below are contiguous.
    SPARSEWOOD_INLINE void differentiate(int words, double* marginals) {
        std::fill(slopes_.begin(), slopes_.end(), 0.0);
        std::fill(by_column_.begin(), by_column_.end(), 0.0);
        for (int k = 0; k < words; ++k) {
            if (k % 16 == 15) poll();
            const double* shares = row(table_, k);
            double *on_shares = on_shares_.data(), *on_weights = column(k + 1);
            std::fill(on_shares, on_shares + k + 1, 0.0);
            add_rows(column(0), n_, shares, 1, k + 1, k, on_weights);
            add_rows(row(slopes_, 0), width_, row(table_, 0) + k + 1, width_, k, k + 1, on_shares);
            for (int i = 0; i < k; ++i) row(slopes_, i)[k + 1] = on_weights[i];
            double mean = 0;
            for (int j = 0; j <= k; ++j) mean += shares[j] * on_shares[j];
            double* slopes = row(slopes_, k);
            double inverse = 1 / totals_[static_cast<size_t>(k)];
            for (int j = 0; j <= k; ++j) slopes[j] = (1 - mean + on_shares[j]) * inverse;
            if (single_root_ && k > 0) slopes[0] = on_shares[0] * inverse;
            for (int j = 0; j <= k; ++j) column(j)[k] = slopes[j];
        }
        for (int i = 0; i < words; ++i) {
            double* to = marginals + static_cast<size_t>(i) * static_cast<size_t>(width_);
            const double* slopes = row(slopes_, i);
            for (int j = 0; j <= words; ++j) to[j] = std::max(0.0, to[j] * slopes[j]);
        }
    }

    // to += factor * from
    static SPARSEWOOD_INLINE void add(const double* __restrict from, double factor, int count,
                                      double* __restrict to) {
        for (int j = 0; j < count; ++j) to[j] += factor * from[j];
    }

    // to += sum_i factors[i] * from[i], rows of `count` that are `step` apart, four at a time.
    static SPARSEWOOD_INLINE void add_rows(const double* __restrict from, int64_t step,
                                           const double* factors, int64_t factor_step, int rows,
                                           int count, double* __restrict to) {
        int i = 0;
        for (; i + 4 <= rows; i += 4, from += 4 * step, factors += 4 * factor_step) {
            const double a = factors[0], b = factors[factor_step];
            const double c = factors[2 * factor_step], d = factors[3 * factor_step];
            for (int j = 0; j < count; ++j)
                to[j] += (a * from[j] + b * from[step + j]) +
                         (c * from[2 * step + j] + d * from[3 * step + j]);
        }
        for (; i < rows; ++i, from += step, factors += factor_step) add(from, *factors, count, to);
    }

    int n_, width_;
    bool single_root_;
    std::vector<double> table_, slopes_, by_column_, totals_, on_shares_;
};

}  // namespace sparsewood
