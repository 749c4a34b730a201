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
#include <type_traits>
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

    // All zeros.
    void clear(const PairVectors& pairs) {
        n = pairs.n, size = pairs.size, width = whole_lanes(size);
        count = (3 * pairs.prefixes.channels + 3) / 4 * 4, stride = whole_lanes(count);
        reach = pairs.table ? 1 : n;
        heads.clear(n + 1, width), dependents.clear(n, width), v.clear(1, width);
        for (int side = 0; side < 2; ++side) {
            columns[side].clear(count, width);
            near[side].clear(1, width), far[side].clear(1, width);
        }
    }

    void load(const PairVectors& pairs) {
        clear(pairs);
        widen(pairs.heads, n + 1, size, heads.data());
        widen(pairs.dependents, n, size, dependents.data());
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

// `Count` is int64_t or a constant, so that loops over the usual number of columns are unrolled.
template <int64_t columns>
using Constant = std::integral_constant<int64_t, columns>;

// The hidden layer of a pair from `d` on: tanh(base + other + columns^T values).
template <class Count>
SPARSEWOOD_INLINE void hidden_lanes(const float* base, const float* other, const float* columns,
                                    const float* values, int64_t width, Count count, int64_t d,
                                    Lanes& hidden) {
    Lanes more = lanes(other + d);
    hidden = lanes(base + d);
    for (int64_t c = 0; c < count; c += 2) {
        hidden += values[c] * lanes(columns + c * width + d);
        more += values[c + 1] * lanes(columns + (c + 1) * width + d);
    }
    hidden += more;
    tanh_lanes(hidden);
}

template <class Count>
SPARSEWOOD_INLINE float score_pair(const float* v, const float* base, const float* other,
                                   const float* columns, const float* values, int64_t width,
                                   Count count) {
    Lanes sum{}, hidden;
    for (int64_t d = 0; d < width; d += kLanes) {
        hidden_lanes(base, other, columns, values, width, count, d, hidden);
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
    Rows values, base;
};

template <class Count>
SPARSEWOOD_INLINE void score_pairs(const PairVectors& pairs, float* scores, ScoreWork& work,
                                   Count count) {
    PairRows& given = work.given;
    const int64_t n = given.n, width = given.width, stride = given.stride;
    const float* v = given.v.data();
    float *values = work.values.data(), *base = work.base.data();
    for (int64_t low = 0; low <= n; ++low) {
        const int64_t far = low + given.reach + 1;  // the first right word that uses columns
        if (far <= n) see_between(pairs.prefixes, low, n, stride, values, nullptr);
        tanh_row(values, (n - far + 1) * stride);
        for (int side = 0; side <= (low > 0); ++side) {
            const PairScores at(side, low, n);
            const float* columns = given.columns[side].data();
            const float* own = given.left(side, low);
            add_rows(own, given.near[side].data(), width, base);
            for (int64_t high = at.first; high <= std::min(n, far - 1); ++high)
                scores[at[high]] = score_pair(v, base, given.right(side, high), columns, values,
                                              width, Constant<0>{});
            add_rows(own, given.far[side].data(), width, base);
            for (int64_t high = far; high <= n; ++high)
                scores[at[high]] = score_pair(v, base, given.right(side, high), columns,
                                              values + (high - far) * stride, width, count);
        }
    }
}

SPARSEWOOD_INLINE void score_pairs(const PairVectors& pairs, float* scores, ScoreWork& work) {
    work.given.load(pairs);
    work.values.clear(pairs.n, work.given.stride);
    work.base.resize(1, work.given.width);
    if (work.given.count == 12)
        score_pairs(pairs, scores, work, Constant<12>{});
    else
        score_pairs(pairs, scores, work, work.given.count);
}

}  // namespace sparsewood
