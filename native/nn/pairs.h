// Scores of all pairs of words by one hidden layer, which is never stored:
//
//     v^T tanh(head + dependent)                                               MLPArcScorer
//     v^T tanh(head + dependent + W_side tanh([sum, least, greatest]) + e)     BetweenArcScorer
//
// An outer loop goes over the left word of a pair, an inner loop over the right word. The left word
// is the head on side 0 and the dependent on side 1; what lies between is the same for both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nn/between.h"
#include "nn/lanes.h"

namespace sparsewood {

// The vectors of a sentence: heads (n + 1, size), dependents (n, size), v (size). The table has the
// rows W_left^T (3 * channels, size) for heads left of the dependent, W_right^T, and the four e:
// adjacent left, other left, adjacent right, other right. Without a table (nullptr) the words
// between two words have no effect.
struct PairVectors {
    const float *heads, *dependents, *v, *table;
    PrefixSums prefixes;
    int64_t n, size;
};

// The gradients with respect to those; `table` is nullptr if there is none.
struct PairGradients {
    float *heads, *dependents, *v, *table;
    double* prefixes;
};

// The vectors of a sentence, or their gradients, padded to vectors of kLanes. Words count from 1.
struct PairRows {
    Rows heads, dependents, v, columns[2], near[2], far[2];
    int64_t n, size, width;
    int64_t count;   // columns of a side, padded to a multiple of four
    int64_t stride;  // count padded to a multiple of kLanes
    int64_t reach;   // pairs up to this distance use no columns

    explicit PairRows(const PairVectors& pairs)
        : n(pairs.n), size(pairs.size), width(whole_lanes(size)),
          count((3 * pairs.prefixes.channels + 3) / 4 * 4), stride(whole_lanes(count)),
          reach(pairs.table ? 1 : n) {
        clear();
    }

    // All zeros.
    void clear() {
        heads.clear(n + 1, width), dependents.clear(n, width), v.clear(1, width);
        for (int side = 0; side < 2; ++side) {
            columns[side].clear(count, width);
            near[side].clear(1, width), far[side].clear(1, width);
        }
    }

    void load_words(const PairVectors& pairs) {
        widen(pairs.heads, n + 1, size, heads.data());
        widen(pairs.dependents, n, size, dependents.data());
    }

    // What all sentences share.
    void load_weights(const PairVectors& pairs) {
        widen(pairs.v, 1, size, v.data());
        if (!pairs.table) return;
        const int64_t used = 3 * pairs.prefixes.channels;
        for (int side = 0; side < 2; ++side) {
            widen(pairs.table + side * used * size, used, size, columns[side].data());
            widen(pairs.table + (2 * used + 2 * side) * size, 1, size, near[side].data());
            widen(pairs.table + (2 * used + 2 * side + 1) * size, 1, size, far[side].data());
        }
    }

    void store(int64_t channels, const PairGradients& to) const {
        narrow(heads.data(), n + 1, size, to.heads);
        narrow(dependents.data(), n, size, to.dependents);
        narrow(v.data(), 1, size, to.v);
        if (!to.table) return;
        const int64_t used = 3 * channels;
        for (int side = 0; side < 2; ++side) {
            narrow(columns[side].data(), used, size, to.table + side * used * size);
            narrow(near[side].data(), 1, size, to.table + (2 * used + 2 * side) * size);
            narrow(far[side].data(), 1, size, to.table + (2 * used + 2 * side + 1) * size);
        }
    }

    float* left(int side, int64_t word) { return side ? dependent(word) : head(word); }
    float* right(int side, int64_t word) { return side ? head(word) : dependent(word); }

  private:
    float* head(int64_t word) { return heads.data() + word * width; }
    float* dependent(int64_t word) { return dependents.data() + (word - 1) * width; }
};

// Positions of the scores of a left word in a matrix (n, n + 1). The right words start at `first`:
// the arc from a word to itself belongs to side 1.
struct PairScores {
    int64_t first, step, offset;

    PairScores(int side, int64_t low, int64_t n)
        : first(side ? low : low + 1), step(side ? 1 : n + 1),
          offset(side ? (low - 1) * (n + 1) : low - (n + 1)) {}
    int64_t operator[](int64_t high) const { return offset + high * step; }
};

constexpr int64_t kBlock = 32;  // pairs that are computed together, as a product of matrices

// rows (pairs, width) = the right words + e + columns^T values, `columns` columns at a time.
template <int columns>
SPARSEWOOD_INLINE void add_columns(PairRows& given, int side, const float* values,
                                   const float* const* right, int64_t pairs, float* rows) {
    const int64_t width = given.width, stride = given.stride;
    const float *weights = given.columns[side].data(), *far = given.far[side].data();
    for (int64_t first = 0; first < given.count; first += columns)
        for (int64_t d = 0; d < width; d += kLanes) {
            Lanes column[static_cast<size_t>(columns)];
            for (int c = 0; c < columns; ++c) column[c] = lanes(weights + (first + c) * width + d);
            const Lanes start = lanes(far + d);
            for (int64_t q = 0; q < pairs; ++q) {
                const float* value = values + q * stride + first;
                float* row = rows + q * width + d;
                Lanes even = first == 0 ? lanes(right[q] + d) : lanes(row);
                Lanes odd = first == 0 ? start : Lanes{};
                for (int c = 0; c < columns; c += 2) {
                    even += value[c] * column[c];
                    odd += value[c + 1] * column[c + 1];
                }
                lanes(row) = even + odd;
            }
        }
}

SPARSEWOOD_INLINE void add_between(PairRows& given, int side, const float* values,
                                   const float* const* right, int64_t pairs, float* rows) {
    if (given.count == 12)
        add_columns<12>(given, side, values, right, pairs, rows);
    else
        add_columns<4>(given, side, values, right, pairs, rows);
}

// v^T tanh(a + b)
SPARSEWOOD_INLINE float score_pair(const float* v, const float* a, const float* b, int64_t width) {
    Lanes sum{};
    for (int64_t d = 0; d < width; d += kLanes) {
        Lanes hidden = lanes(a + d) + lanes(b + d);
        tanh_lanes(hidden);
        sum += lanes(v + d) * hidden;
    }
    return sum_lanes(sum);
}

SPARSEWOOD_INLINE void add_rows(const float* a, const float* b, int64_t width, float* to) {
    for (int64_t d = 0; d < width; d += kLanes) lanes(to + d) = lanes(a + d) + lanes(b + d);
}

// Memory of one thread.
struct ScoreWork {
    PairRows given;
    Rows values, base, rows;

    explicit ScoreWork(const PairVectors& pairs) : given(pairs) {
        given.load_weights(pairs);
        values.clear(given.n, given.stride);
        base.resize(1, given.width);
        rows.resize(kBlock, given.width);
    }
};

SPARSEWOOD_INLINE void score_pairs(const PairVectors& pairs, float* scores, ScoreWork& work) {
    PairRows& given = work.given;
    given.load_words(pairs);
    const int64_t n = given.n, width = given.width, stride = given.stride;
    const float* v = given.v.data();
    float *values = work.values.data(), *base = work.base.data(), *rows = work.rows.data();
    for (int64_t low = 0; low <= n; ++low) {
        const int64_t far = low + given.reach + 1;  // the first right word that uses columns
        if (far <= n) see_between(pairs.prefixes, low, n, stride, values, nullptr);
        tanh_row(values, (n - far + 1) * stride);
        for (int side = 0; side <= (low > 0); ++side) {
            const PairScores at(side, low, n);
            const float* own = given.left(side, low);
            add_rows(own, given.near[side].data(), width, base);
            for (int64_t high = at.first; high <= std::min(n, far - 1); ++high)
                scores[at[high]] = score_pair(v, base, given.right(side, high), width);
            for (int64_t first = far; first <= n; first += kBlock) {
                const int64_t count = std::min(kBlock, n - first + 1);
                const float* right[kBlock];
                for (int64_t q = 0; q < count; ++q) right[q] = given.right(side, first + q);
                add_between(given, side, values + (first - far) * stride, right, count, rows);
                for (int64_t q = 0; q < count; ++q)
                    scores[at[first + q]] = score_pair(v, own, rows + q * width, width);
            }
        }
    }
}

}  // namespace sparsewood
