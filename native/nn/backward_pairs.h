// The gradients of nn/pairs.h. Pairs whose score has no gradient are skipped: most pairs, if the
// posterior is sparse.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nn/pairs.h"

namespace sparsewood {

constexpr int64_t kBlock = 32;

// Pairs whose gradients of W and of the values between are computed together, as matrix products.
struct PairBlock {
    Rows slopes, values, on_values;  // (kBlock, width), (kBlock, stride) twice
    std::vector<int32_t> at;           // (kBlock, 3 channels)
    int64_t low[kBlock];
    int64_t used = 0;
};

// Memory of one thread.
struct BackwardWork {
    PairRows given, on;
    PairBlock blocks[2];
    Rows transposed[2];  // the columns of a side (width, stride)
    Rows values, base, slope, on_near, on_far;
    std::vector<int32_t> at;
    std::vector<int64_t> high[2];

    void load(const PairVectors& pairs) {
        given.load(pairs), on.clear(pairs);
        const int64_t stride = given.stride, width = given.width;
        values.clear(given.n, stride);
        at.resize(static_cast<size_t>(given.n * 3 * pairs.prefixes.channels));
        for (Rows* row : {&base, &slope, &on_near, &on_far}) row->resize(1, width);
        for (int side = 0; side < 2; ++side) {
            PairBlock& block = blocks[side];
            block.used = 0;
            block.slopes.resize(kBlock, width);
            block.values.resize(kBlock, stride);
            block.on_values.resize(kBlock, stride);
            block.at.resize(static_cast<size_t>(kBlock * 3 * pairs.prefixes.channels));
            transposed[side].clear(width, stride);
            for (int64_t c = 0; c < given.count; ++c)
                for (int64_t d = 0; d < width; ++d)
                    transposed[side].data()[d * stride + c] =
                        given.columns[side].data()[c * width + d];
        }
    }
};

// Adds the gradients of one pair to rows, and writes that of its hidden layer to `slope`.
template <class Count>
SPARSEWOOD_INLINE void backward_pair(const BackwardWork& work, float on, const float* other,
                                 const float* columns, const float* values, Count count,
                                 float* on_v, float* on_base, float* on_other, float* slope) {
    const float *v = work.given.v.data(), *base = work.base.data();
    const int64_t width = work.given.width;
    Lanes hidden;
    for (int64_t d = 0; d < width; d += kLanes) {
        hidden_lanes(base, other, columns, values, width, count, d, hidden);
        const Lanes up = on * (1.f - hidden * hidden) * lanes(v + d);
        lanes(slope + d) = up;
        lanes(on_base + d) += up;
        lanes(on_other + d) += up;
        lanes(on_v + d) += on * hidden;
    }
}

// on_columns += values^T slopes, `columns` rows at a time.
template <int columns>
SPARSEWOOD_INLINE void backward_columns(const PairBlock& block, const PairRows& given,
                                    float* on_columns) {
    const int64_t width = given.width, stride = given.stride;
    for (int64_t first = 0; first < given.count; first += columns)
        for (int64_t d = 0; d < width; d += kLanes) {
            Lanes sums[static_cast<size_t>(columns)];
            for (int c = 0; c < columns; ++c)
                sums[c] = lanes(on_columns + (first + c) * width + d);
            for (int64_t q = 0; q < block.used; ++q) {
                const Lanes slope = lanes(block.slopes.data() + q * width + d);
                const float* values = block.values.data() + q * stride + first;
                for (int c = 0; c < columns; ++c) sums[c] += values[c] * slope;
            }
            for (int c = 0; c < columns; ++c)
                lanes(on_columns + (first + c) * width + d) = sums[c];
        }
}

// on_values = slopes columns^T, times the derivative of tanh.
SPARSEWOOD_INLINE void backward_values(PairBlock& block, const PairRows& given,
                                   const float* transposed) {
    constexpr int64_t kRows = 4;
    const int64_t width = given.width, stride = given.stride;
    const int64_t rows = (block.used + kRows - 1) / kRows * kRows;
    std::fill_n(block.slopes.data() + block.used * width, (rows - block.used) * width, 0.f);
    for (int64_t first = 0; first < stride; first += kLanes)
        for (int64_t q = 0; q < rows; q += kRows) {
            Lanes sums[kRows] = {};
            const float* slopes = block.slopes.data() + q * width;
            for (int64_t d = 0; d < width; ++d) {
                const Lanes column = lanes(transposed + d * stride + first);
                for (int64_t k = 0; k < kRows; ++k) sums[k] += slopes[k * width + d] * column;
            }
            for (int64_t k = 0; k < kRows; ++k) {
                const Lanes values = lanes(block.values.data() + (q + k) * stride + first);
                lanes(block.on_values.data() + (q + k) * stride + first) =
                    (1.f - values * values) * sums[k];
            }
        }
}

// Adds the gradients of a block of pairs to those of the columns and of the prefix sums.
SPARSEWOOD_INLINE void backward_block(BackwardWork& work, int side, int64_t channels,
                                      double* on_prefixes) {
    PairBlock& block = work.blocks[side];
    float* on_columns = work.on.columns[side].data();
    if (work.given.count == 12)
        backward_columns<12>(block, work.given, on_columns);
    else
        backward_columns<4>(block, work.given, on_columns);
    backward_values(block, work.given, work.transposed[side].data());
    for (int64_t q = 0; q < block.used; ++q) {
        const int32_t* at = block.at.data() + q * 3 * channels;
        const float* on = block.on_values.data() + q * work.given.stride;
        double* start = on_prefixes + block.low[q] * channels;
        for (int64_t kind = 0; kind < 3; ++kind, at += channels, on += channels)
            for (int64_t c = 0; c < channels; ++c) {
                on_prefixes[at[c] * channels + c] += on[c];
                start[c] -= on[c];
            }
    }
    block.used = 0;
}

// The gradients of the pairs of a left word on one side; their right words are in work.high.
template <class Count>
SPARSEWOOD_INLINE void backward_side(const PairVectors& pairs, const float* on_scores, int64_t low,
                                 int side, double* on_prefixes, BackwardWork& work, Count count) {
    PairRows &given = work.given, &on = work.on;
    const PairScores scores(side, low, given.n);
    const int64_t width = given.width, stride = given.stride, channels = pairs.prefixes.channels;
    const int64_t far = low + given.reach + 1;
    const auto& highs = work.high[side];
    const float* columns = given.columns[side].data();
    float *on_near = work.on_near.data(), *on_far = work.on_far.data();
    std::fill_n(on_near, width, 0.f);
    std::fill_n(on_far, width, 0.f);
    add_rows(given.left(side, low), given.near[side].data(), width, work.base.data());
    size_t next = 0;
    for (; next < highs.size() && highs[next] < far; ++next)
        backward_pair(work, on_scores[scores[highs[next]]], given.right(side, highs[next]), columns,
                      nullptr, Constant<0>{}, on.v.data(), on_near, on.right(side, highs[next]),
                      work.slope.data());
    add_rows(given.left(side, low), given.far[side].data(), width, work.base.data());
    for (; next < highs.size(); ++next) {
        PairBlock& block = work.blocks[side];
        if (block.used == kBlock) backward_block(work, side, channels, on_prefixes);
        const int64_t high = highs[next], q = block.used++;
        float* values = block.values.data() + q * stride;
        std::copy_n(work.values.data() + (high - far) * stride, stride, values);
        tanh_row(values, stride);
        std::copy_n(work.at.data() + (high - far) * 3 * channels, 3 * channels,
                    block.at.data() + q * 3 * channels);
        block.low[q] = low;
        backward_pair(work, on_scores[scores[high]], given.right(side, high), columns, values,
                      count, on.v.data(), on_far, on.right(side, high),
                      block.slopes.data() + q * width);
    }
    float* on_left = on.left(side, low);
    add_rows(on_left, on_near, width, on_left);
    add_rows(on_left, on_far, width, on_left);
    add_rows(on.near[side].data(), on_near, width, on.near[side].data());
    add_rows(on.far[side].data(), on_far, width, on.far[side].data());
}

template <class Count>
SPARSEWOOD_INLINE void backward_pairs(const PairVectors& pairs, const float* on_scores,
                                  double* on_prefixes, BackwardWork& work, Count count) {
    const int64_t n = work.given.n;
    for (int64_t low = 0; low <= n; ++low) {
        int64_t last = 0;
        for (int side = 0; side <= (low > 0); ++side) {
            const PairScores scores(side, low, n);
            auto& highs = work.high[side];
            highs.clear();
            for (int64_t high = scores.first; high <= n; ++high)
                if (on_scores[scores[high]] != 0) highs.push_back(high);
            if (!highs.empty()) last = std::max(last, highs.back());
        }
        if (last > low + work.given.reach)
            see_between(pairs.prefixes, low, last, work.given.stride, work.values.data(),
                        work.at.data());
        for (int side = 0; side <= (low > 0); ++side)
            if (!work.high[side].empty())
                backward_side(pairs, on_scores, low, side, on_prefixes, work, count);
    }
    for (int side = 0; side < 2; ++side)
        if (work.blocks[side].used > 0)
            backward_block(work, side, pairs.prefixes.channels, on_prefixes);
}

SPARSEWOOD_INLINE void backward_pairs(const PairVectors& pairs, const float* on_scores,
                                  const PairGradients& gradients, BackwardWork& work) {
    work.load(pairs);
    const int64_t channels = pairs.prefixes.channels;
    std::fill_n(gradients.prefixes, (pairs.n + 1) * channels, 0.);
    if (work.given.count == 12)
        backward_pairs(pairs, on_scores, gradients.prefixes, work, Constant<12>{});
    else
        backward_pairs(pairs, on_scores, gradients.prefixes, work, work.given.count);
    work.on.store(channels, gradients);
}

}  // namespace sparsewood
