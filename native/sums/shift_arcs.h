// Shifts the scores of arcs by a constant that all trees share: see
// structures/recursions/shifted.py.
#pragma once

#include <algorithm>
#include <cstdint>

#include "group/wide.h"

namespace sparsewood {

// Scores below this include a forbidden part, as in structures/recursions/totals.py.
constexpr double kNoScore = -5e299;

// The largest of `count` scores, below kNoScore if none is allowed.
SPARSEWOOD_INLINE double largest(const double* scores, int64_t count) {
    double best[8];
    std::fill(best, best + 8, 2 * kNoScore);
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int k = 0; k < 8; ++k) best[k] = scores[i + k] > best[k] ? scores[i + k] : best[k];
    for (; i < count; ++i) best[0] = std::max(best[0], scores[i]);
    return *std::max_element(best, best + 8);
}

SPARSEWOOD_INLINE double or_zero(double score) { return score < kNoScore ? 0 : score; }

// Shifts arcs of n words, rows of `width`, in place; returns the constant. The first `root` cells
// of a row are arcs from the root if a tree has exactly one of them; 0: it may have several.
SPARSEWOOD_INLINE double shift_arcs(double* arcs, int64_t n, int64_t width, int64_t root) {
    double first = 2 * kNoScore, second = 2 * kNoScore, shared = 0;
    if (root > 0) {
        for (int64_t i = 0; i < n; ++i) first = std::max(first, largest(arcs + i * width, root));
        first = or_zero(first);
        for (int64_t i = 0; i < n; ++i) {
            const double* row = arcs + i * width;
            double top = largest(row + root, width - root);
            if (!(top < kNoScore)) second = std::max(second, largest(row, root) - first - top);
        }
        second = or_zero(second);
        shared = first + second;
    }
    for (int64_t i = 0; i < n; ++i) {
        double* row = arcs + i * width;
        double top = largest(row + root, width - root);
        if (root > 0 && top < kNoScore) {
            double only = largest(row, root);
            top = only < kNoScore ? 0 : only - first - second;
        }
        top = or_zero(top);
        shared += top;
        for (int64_t j = 0; j < root; ++j) row[j] = row[j] - first - top - second;
        for (int64_t j = root; j < width; ++j) row[j] -= top;
    }
    return shared;
}

// Spans of n words, (width, width, labels), in place; returns the score shared by all trees, which
// have the single words, the whole sentence and n - 2 other spans.
SPARSEWOOD_INLINE double shift_spans(double* spans, int64_t n, int64_t width, int64_t labels) {
    auto at = [&](int64_t i, int64_t j) { return spans + (i * width + j) * labels; };
    auto in_all = [&](int64_t i, int64_t j) { return i == j || (i == 0 && j == n - 1); };
    double between = 2 * kNoScore, shared = 0;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = i + 1; j < n; ++j)
            if (!in_all(i, j)) between = std::max(between, largest(at(i, j), labels));
    between = or_zero(between);
    if (n > 2) shared = between * static_cast<double>(n - 2);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = i; j < n; ++j) {
            double *row = at(i, j), top = between;
            if (in_all(i, j)) shared += top = or_zero(largest(row, labels));
            for (int64_t k = 0; k < labels; ++k) row[k] -= top;
        }
    return shared;
}

}  // namespace sparsewood
