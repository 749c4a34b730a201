// The gradients of nn/pairs.h. Pairs whose score has no gradient are skipped: most pairs, if the
// posterior is sparse.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nn/pairs.h"

namespace sparsewood {

// Pairs with words between that wait until there are kBlock of them.
struct PairBlock {
    Rows rows, values, on_values;  // (kBlock, width), (kBlock, stride) twice
    std::vector<int32_t> at;       // (kBlock, 3 channels)
    int64_t low[kBlock], high[kBlock];
    float on[kBlock];
    int64_t used = 0;
};

// Memory of one thread.
struct BackwardWork {
    PairRows given, on;
    PairBlock blocks[2];
    Rows transposed[2];  // the columns of a side (width, stride)
    Rows values, base, on_near, slope;
    std::vector<int32_t> at;
    std::vector<int64_t> high[2];

    explicit BackwardWork(const PairVectors& pairs) : given(pairs), on(pairs) {
        given.load_weights(pairs);
        const int64_t stride = given.stride, width = given.width;
        values.clear(given.n, stride);
        at.resize(static_cast<size_t>(given.n * 3 * pairs.prefixes.channels));
        for (Rows* row : {&base, &on_near, &slope}) row->resize(1, width);
        for (int side = 0; side < 2; ++side) {
            PairBlock& block = blocks[side];
            block.rows.resize(kBlock, width);
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

// From the gradient of v^T tanh(a + b): adds those of v, a and b, and writes that of a + b, which
// may replace b.
SPARSEWOOD_INLINE void backward_pair(const float* v, const float* a, const float* b, float on,
                                     int64_t width, float* on_v, float* on_a, float* on_b,
                                     float* slope) {
    for (int64_t d = 0; d < width; d += kLanes) {
        Lanes hidden = lanes(a + d) + lanes(b + d);
        tanh_lanes(hidden);
        const Lanes up = on * (1.f - hidden * hidden) * lanes(v + d);
        lanes(slope + d) = up;
        lanes(on_a + d) += up;
        lanes(on_b + d) += up;
        lanes(on_v + d) += on * hidden;
    }
}

// on_columns += values^T slopes and on_far += their sum, `columns` rows at a time.
template <int columns>
SPARSEWOOD_INLINE void backward_columns(const PairBlock& block, const PairRows& given,
                                        float* on_columns, float* on_far) {
    const int64_t width = given.width, stride = given.stride;
    for (int64_t first = 0; first < given.count; first += columns)
        for (int64_t d = 0; d < width; d += kLanes) {
            Lanes sums[static_cast<size_t>(columns)], sum{};
            for (int c = 0; c < columns; ++c)
                sums[c] = lanes(on_columns + (first + c) * width + d);
            for (int64_t q = 0; q < block.used; ++q) {
                const Lanes slope = lanes(block.rows.data() + q * width + d);
                const float* values = block.values.data() + q * stride + first;
                for (int c = 0; c < columns; ++c) sums[c] += values[c] * slope;
                sum += slope;
            }
            for (int c = 0; c < columns; ++c)
                lanes(on_columns + (first + c) * width + d) = sums[c];
            if (first == 0) lanes(on_far + d) += sum;
        }
}

// on_values = slopes columns^T, times the derivative of tanh.
SPARSEWOOD_INLINE void backward_values(PairBlock& block, const PairRows& given,
                                   const float* transposed) {
    constexpr int64_t kRows = 8;
    const int64_t width = given.width, stride = given.stride;
    const int64_t rows = (block.used + kRows - 1) / kRows * kRows;
    std::fill_n(block.rows.data() + block.used * width, (rows - block.used) * width, 0.f);
    for (int64_t first = 0; first < stride; first += kLanes)
        for (int64_t q = 0; q < rows; q += kRows) {
            Lanes sums[kRows] = {};
            const float* slopes = block.rows.data() + q * width;
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

// Adds the gradients of the pairs of a block, which is empty afterwards.
SPARSEWOOD_INLINE void backward_block(BackwardWork& work, int side, int64_t channels,
                                      double* on_prefixes) {
    PairRows &given = work.given, &on = work.on;
    PairBlock& block = work.blocks[side];
    const int64_t width = given.width;
    float *on_columns = on.columns[side].data(), *on_far = on.far[side].data();
    const float* right[kBlock];
    for (int64_t q = 0; q < block.used; ++q) right[q] = given.right(side, block.high[q]);
    add_between(given, side, block.values.data(), right, block.used, block.rows.data());
    for (int64_t q = 0; q < block.used; ++q) {
        float* row = block.rows.data() + q * width;
        backward_pair(given.v.data(), given.left(side, block.low[q]), row, block.on[q], width,
                      on.v.data(), on.left(side, block.low[q]), on.right(side, block.high[q]), row);
    }
    if (given.count == 12)
        backward_columns<12>(block, given, on_columns, on_far);
    else
        backward_columns<4>(block, given, on_columns, on_far);
    backward_values(block, given, work.transposed[side].data());
    for (int64_t q = 0; q < block.used; ++q) {
        const int32_t* at = block.at.data() + q * 3 * channels;
        const float* up = block.on_values.data() + q * given.stride;
        double* start = on_prefixes + block.low[q] * channels;
        for (int64_t c = 0; c < channels; ++c) {
            double sum = 0;
            for (int64_t k = c; k < 3 * channels; k += channels) {
                on_prefixes[at[k] * channels + c] += up[k];
                sum += up[k];
            }
            start[c] -= sum;
        }
    }
    block.used = 0;
}

// The gradients of the pairs of a left word on one side; their right words are in work.high.
SPARSEWOOD_INLINE void backward_side(const float* on_scores, int64_t low, int side,
                                     int64_t channels, double* on_prefixes, BackwardWork& work) {
    PairRows &given = work.given, &on = work.on;
    const PairScores scores(side, low, given.n);
    const int64_t width = given.width, stride = given.stride, far = low + given.reach + 1;
    const auto& highs = work.high[side];
    size_t next = 0;
    if (highs[0] < far) {
        float* on_near = work.on_near.data();
        std::fill_n(on_near, width, 0.f);
        add_rows(given.left(side, low), given.near[side].data(), width, work.base.data());
        for (; next < highs.size() && highs[next] < far; ++next)
            backward_pair(given.v.data(), work.base.data(), given.right(side, highs[next]),
                          on_scores[scores[highs[next]]], width, on.v.data(), on_near,
                          on.right(side, highs[next]), work.slope.data());
        add_rows(on.left(side, low), on_near, width, on.left(side, low));
        add_rows(on.near[side].data(), on_near, width, on.near[side].data());
    }
    PairBlock& block = work.blocks[side];
    for (; next < highs.size(); ++next) {
        const int64_t high = highs[next], q = block.used++;
        block.low[q] = low, block.high[q] = high, block.on[q] = on_scores[scores[high]];
        float* values = block.values.data() + q * stride;
        std::copy_n(work.values.data() + (high - far) * stride, stride, values);
        tanh_row(values, stride);
        std::copy_n(work.at.data() + (high - far) * 3 * channels, 3 * channels,
                    block.at.data() + q * 3 * channels);
        if (block.used == kBlock) backward_block(work, side, channels, on_prefixes);
    }
}

SPARSEWOOD_INLINE void backward_pairs(const PairVectors& pairs, const float* on_scores,
                                      const PairGradients& gradients, BackwardWork& work) {
    PairRows& given = work.given;
    const int64_t n = given.n, channels = pairs.prefixes.channels;
    given.load_words(pairs);
    work.on.clear();
    std::fill_n(gradients.prefixes, (n + 1) * channels, 0.);
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
        if (last > low + given.reach)
            see_between(pairs.prefixes, low, last, given.stride, work.values.data(),
                        work.at.data());
        for (int side = 0; side <= (low > 0); ++side)
            if (!work.high[side].empty())
                backward_side(on_scores, low, side, channels, gradients.prefixes, work);
    }
    for (int side = 0; side < 2; ++side)
        if (work.blocks[side].used > 0)
            backward_block(work, side, channels, gradients.prefixes);
    work.on.store(channels, gradients);
}

}  // namespace sparsewood
