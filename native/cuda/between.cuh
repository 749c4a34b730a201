// Scores of pairs of words and what lies between them, and their gradients; formulas: nn/pairs.h.
//
// A block works on one word of a pair and on tiles of kTile other words: one thread per channel
// follows the prefix sums, then all threads compute the hidden layer. Nothing is stored per pair.
// `MLPArcScorer` needs no tiles in shared memory and therefore has its own kernels, cuda/pairs.cuh.
#pragma once

#include "cuda/block.cuh"

namespace sparsewood {

constexpr int kTile = 16;

// heads (batch, n + 1, size), dependents (batch, n, size), prefixes (batch, n + 1, channels), table
// (6 channels + 4, size) as in nn/pairs.h, v (size).
template <class Real>
struct BetweenWords {
    const Real *heads, *dependents, *table, *v;
    const double* prefixes;
    int64_t n, size, channels;

    __device__ int64_t m() const { return n + 1; }
    __device__ int64_t columns() const { return 3 * channels; }
    // Side 0: the left word is the head; side 1: it is the dependent. Words count from 1.
    __device__ int64_t head(int64_t b, int64_t word) const { return (b * m() + word) * size; }
    __device__ int64_t dependent(int64_t b, int64_t word) const {
        return (b * n + word - 1) * size;
    }
    __device__ const Real* left(int side, int64_t b, int64_t word) const {
        return side ? dependents + dependent(b, word) : heads + head(b, word);
    }
    __device__ const Real* right(int side, int64_t b, int64_t word) const {
        return side ? heads + head(b, word) : dependents + dependent(b, word);
    }
    __device__ const Real* column(int side, int64_t c) const {
        return table + (side * columns() + c) * size;
    }
    __device__ const Real* place(int side, bool near) const {
        return table + (2 * columns() + 2 * side + (near ? 0 : 1)) * size;
    }
    __device__ int64_t score(int side, int64_t b, int64_t low, int64_t high) const {
        return side ? (b * n + low - 1) * m() + high : (b * n + high - 1) * m() + low;
    }
    // The root is no dependent; the arc from a word to itself belongs to side 1.
    __device__ bool has_arc(int side, int64_t low, int64_t high) const {
        return low >= 0 && high <= n && (side ? low > 0 : high > low);
    }
};

// Shared memory of a block; `at` has the positions of the prefix sums that `values` are taken from.
template <class Real>
struct BetweenTile {
    Real *values, *on_values;  // (kTile, columns)
    Real *on, *slopes;         // (2, kTile), (kTile, threads + 1)
    int *at;                   // (kTile, columns)

    __device__ BetweenTile(int64_t columns, bool backward) {
        Real* room = reinterpret_cast<Real*>(dynamic_shared());
        values = room, room += kTile * columns;
        on = room, room += 2 * kTile;
        on_values = room, room += backward ? kTile * columns : 0;
        slopes = room, room += backward ? kTile * (blockDim.x + 1) : 0;
        at = reinterpret_cast<int*>(room);
    }
};

template <class Real>
__device__ void tanh_of_tile(BetweenTile<Real>& tile, int64_t columns) {
    __syncthreads();
    for (int64_t i = threadIdx.x; i < kTile * columns; i += blockDim.x)
        tile.values[i] = tanh(tile.values[i]);
    __syncthreads();
}

// Running extremes of the prefix sums of one channel; the first of equal ones counts.
struct Extremes {
    double start, least, greatest;
    int least_at, greatest_at;

    __device__ Extremes(double sum, int64_t low)
        : start(sum), least(sum), greatest(sum), least_at(int(low)), greatest_at(int(low)) {}
    __device__ void add(double sum, int64_t at) {
        if (sum < least) least = sum, least_at = int(at);
        if (sum > greatest) greatest = sum, greatest_at = int(at);
    }
};

// The next kTile right words from `first` on. Each channel has a thread, which keeps its extremes.
template <class Real>
__device__ void see_rightwards(const BetweenWords<Real>& words, const double* prefixes, int64_t low,
                               int64_t first, Extremes& kept, BetweenTile<Real>& tile, bool where) {
    const int64_t channels = words.channels, c = threadIdx.x;
    for (int j = 0; j < kTile && c < channels; ++j) {
        const int64_t last = first + j - 1;  // the prefix sums end here
        double sum = kept.start;
        if (last > low && last < words.n) {
            sum = prefixes[last * channels + c];
            kept.add(sum, last);
        }
        Real* to = tile.values + j * 3 * channels + c;
        to[0] = Real(sum - kept.start);
        to[channels] = Real(kept.least - kept.start);
        to[2 * channels] = Real(kept.greatest - kept.start);
        if (!where) continue;
        int* at = tile.at + j * 3 * channels + c;
        at[0] = last > low ? int(last) : int(low);
        at[channels] = kept.least_at;
        at[2 * channels] = kept.greatest_at;
    }
    tanh_of_tile(tile, words.columns());
}

// The next kTile left words from `first` down.
template <class Real>
__device__ void see_leftwards(const BetweenWords<Real>& words, const double* prefixes, int64_t high,
                              int64_t first, Extremes& kept, BetweenTile<Real>& tile) {
    const int64_t channels = words.channels, c = threadIdx.x;
    for (int j = 0; j < kTile && c < channels; ++j) {
        const int64_t low = first - j;
        const bool between = low >= 0 && low < high;
        const double start = between ? prefixes[low * channels + c] : 0;
        if (between) kept.add(start, low);
        Real* to = tile.values + j * 3 * channels + c;
        to[0] = between ? Real(kept.start - start) : Real(0);
        to[channels] = between ? Real(kept.least - start) : Real(0);
        to[2 * channels] = between ? Real(kept.greatest - start) : Real(0);
    }
    tanh_of_tile(tile, words.columns());
}

// The hidden layer at k for `count` pairs of the tile, every `step`-th from `first` on; 0 where not
// `wanted`. `own` belongs to the word of the block, `other` to the words of the tile. Loops over
// pairs are unrolled, so that `hidden` stays in registers.
template <int count, class Real, class Wanted, class Other>
__device__ void hidden_of_tile(const BetweenWords<Real>& words, const BetweenTile<Real>& tile,
                               int side, int64_t k, int first, int step, Real own, Wanted wanted,
                               Other other, Real* hidden) {
    const int64_t columns = words.columns();
#pragma unroll
    for (int i = 0; i < count; ++i) {
        const int j = first + i * step;
        hidden[i] = wanted(j) ? own + other(j) : Real(0);
    }
    for (int64_t c = 0; c < columns; ++c) {
        const Real weight = words.column(side, c)[k];
#pragma unroll
        for (int i = 0; i < count; ++i)
            hidden[i] += weight * tile.values[(first + i * step) * columns + c];
    }
#pragma unroll
    for (int i = 0; i < count; ++i)
        hidden[i] = wanted(first + i * step) ? tanh(hidden[i]) : Real(0);
}

// One block per left word; its four warps share the pairs of a tile.
template <class Real>
__device__ void score_between(const BetweenWords<Real>& words, Real* scores) {
    constexpr int kWarps = 4, kEach = kTile / kWarps;
    const int64_t b = blockIdx.x / words.m(), low = blockIdx.x % words.m();
    const double* prefixes = words.prefixes + b * words.m() * words.channels;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    BetweenTile<Real> tile(words.columns(), false);
    const int64_t channel = threadIdx.x < words.channels ? threadIdx.x : 0;
    Extremes kept(prefixes[low * words.channels + channel], low);
    for (int64_t first = low; first <= words.n; first += kTile) {
        see_rightwards(words, prefixes, low, first, kept, tile, false);
        for (int side = 0; side < 2; ++side) {
            Real sums[kEach] = {}, hidden[kEach];
            const auto wanted = [&](int j) { return words.has_arc(side, low, first + j); };
            if (side && low == 0) continue;
            for (int64_t k = lane; k < words.size; k += 32) {
                const auto other = [&](int j) {
                    return words.right(side, b, first + j)[k] +
                           words.place(side, first + j - low < 2)[k];
                };
                hidden_of_tile<kEach>(words, tile, side, k, warp, kWarps,
                                      words.left(side, b, low)[k], wanted, other, hidden);
#pragma unroll
                for (int i = 0; i < kEach; ++i) sums[i] += words.v[k] * hidden[i];
            }
#pragma unroll
            for (int i = 0; i < kEach; ++i) {
                Real sum = sums[i];
                for (int step = 16; step > 0; step /= 2)
                    sum += __shfl_xor_sync(0xffffffffu, sum, step);
                const int j = warp + i * kWarps;
                if (lane == 0 && wanted(j)) scores[words.score(side, b, low, first + j)] = sum;
            }
        }
        __syncthreads();
    }
}

// Gradients of the prefix sums of one channel, accumulated while an extreme stays in place.
struct OnExtremes {
    double least = 0, greatest = 0, start = 0;
    int64_t least_at, greatest_at;

    __device__ explicit OnExtremes(int64_t low) : least_at(low), greatest_at(low) {}
    __device__ static void add(double on, int64_t at, double& sum, int64_t& sum_at, double* to,
                               int64_t channels) {
        if (at != sum_at) {
            to[sum_at * channels] += sum;
            sum = 0, sum_at = at;
        }
        sum += on;
    }
    __device__ void finish(int64_t low, double* to, int64_t channels) const {
        to[least_at * channels] += least;
        to[greatest_at * channels] += greatest;
        to[low * channels] += start;
    }
};

// Adds the gradients of a tile, in the thread of channel c, whose prefix sums begin at `to`.
template <class Real>
__device__ void backward_prefixes(const BetweenTile<Real>& tile, int64_t c, int64_t channels,
                              OnExtremes& on, double* to) {
    for (int j = 0; j < kTile; ++j) {
        double up[3];
        for (int kind = 0; kind < 3; ++kind) {
            const int64_t i = (3 * j + kind) * channels + c;
            const double value = tile.values[i];
            up[kind] = tile.on_values[i] * (1 - value * value);
            on.start -= up[kind];
        }
        const int* at = tile.at + 3 * j * channels + c;
        if (up[0] != 0) to[at[0] * channels] += up[0];
        if (up[1] != 0) on.add(up[1], at[channels], on.least, on.least_at, to, channels);
        if (up[2] != 0) on.add(up[2], at[2 * channels], on.greatest, on.greatest_at, to, channels);
    }
}

// The gradients of left words, the table, v (last row of `on_table`) and prefix sums. `blocks`
// blocks share a sentence; each has its own table and prefix sums: results are deterministic.
template <class Real>
__device__ void backward_left_words(const BetweenWords<Real>& words, const Real* transposed,
                                const Real* on_scores, Real* on_heads, Real* on_dependents,
                                Real* on_table, double* on_prefixes, int64_t blocks) {
    const int64_t columns = words.columns(), rows = 2 * columns + 4, size = words.size;
    BetweenTile<Real> tile(columns, true);
    const int64_t b = blockIdx.x / blocks;
    const double* prefixes = words.prefixes + b * words.m() * words.channels;
    const int64_t channel = threadIdx.x < words.channels ? threadIdx.x : 0;
    on_table += blockIdx.x * (rows + 1) * size;
    on_prefixes += blockIdx.x * words.m() * words.channels + channel;
    for (int64_t low = blockIdx.x % blocks; low <= words.n; low += blocks) {
        OnExtremes on_extremes(low);
        Extremes kept(prefixes[low * words.channels + channel], low);
        for (int64_t first = low; first <= words.n; first += kTile) {
            for (int i = threadIdx.x; i < 2 * kTile; i += blockDim.x) {
                const int side = i / kTile, j = i % kTile;
                const bool arc = words.has_arc(side, low, first + j);
                tile.on[i] = arc ? on_scores[words.score(side, b, low, first + j)] : Real(0);
            }
            for (int64_t i = threadIdx.x; i < kTile * columns; i += blockDim.x)
                tile.on_values[i] = 0;
            see_rightwards(words, prefixes, low, first, kept, tile, true);
            for (int side = 0; side < 2; ++side) {
                const Real* on = tile.on + side * kTile;
                bool any = false;
                for (int j = 0; j < kTile; ++j) any = any || on[j] != 0;
                if (!any) continue;
                const auto wanted = [&](int j) { return on[j] != 0; };
                for (int64_t begin = 0; begin < size; begin += blockDim.x) {
                    const int64_t k = begin + threadIdx.x;
                    const int64_t end = size - begin < blockDim.x ? size - begin : blockDim.x;
                    Real hidden[kTile];
                    if (k < size) {
                        const auto other = [&](int j) {
                            return words.right(side, b, first + j)[k] +
                                   words.place(side, first + j - low < 2)[k];
                        };
                        hidden_of_tile<kTile>(words, tile, side, k, 0, 1,
                                              words.left(side, b, low)[k], wanted, other, hidden);
                        Real sum = 0, near = 0, on_v = 0;
#pragma unroll
                        for (int j = 0; j < kTile; ++j) {
                            on_v += on[j] * hidden[j];
                            hidden[j] = on[j] * (1 - hidden[j] * hidden[j]) * words.v[k];
                            sum += hidden[j];
                            if (first + j - low < 2) near += hidden[j];
                            tile.slopes[j * (blockDim.x + 1) + threadIdx.x] = hidden[j];
                        }
                        (side ? on_dependents + words.dependent(b, low)
                              : on_heads + words.head(b, low))[k] += sum;
                        on_table[(2 * columns + 2 * side) * size + k] += near;
                        on_table[(2 * columns + 2 * side + 1) * size + k] += sum - near;
                        on_table[rows * size + k] += on_v;
                        for (int64_t c = 0; c < columns; ++c) {
                            Real on_weight = 0;
#pragma unroll
                            for (int j = 0; j < kTile; ++j)
                                on_weight += hidden[j] * tile.values[j * columns + c];
                            on_table[(side * columns + c) * size + k] += on_weight;
                        }
                    }
                    __syncthreads();
                    for (int64_t i = threadIdx.x; i < kTile * columns; i += blockDim.x) {
                        const int64_t j = i / columns, c = i % columns;
                        if (!wanted(int(j))) continue;
                        const Real* slopes = tile.slopes + j * (blockDim.x + 1);
                        const Real* weights = transposed + begin * rows + side * columns + c;
                        Real sum = 0;
                        for (int64_t d = 0; d < end; ++d) sum += slopes[d] * weights[d * rows];
                        tile.on_values[i] += sum;
                    }
                    __syncthreads();
                }
            }
            __syncthreads();
            if (threadIdx.x < words.channels)
                backward_prefixes(tile, channel, words.channels, on_extremes, on_prefixes);
            __syncthreads();
        }
        if (threadIdx.x < words.channels)
            on_extremes.finish(low, on_prefixes, words.channels);
    }
}

// The gradients of right words, one block each.
template <class Real>
__device__ void backward_right_words(const BetweenWords<Real>& words, const Real* on_scores,
                                 Real* on_heads, Real* on_dependents) {
    const int64_t b = blockIdx.x / words.m(), high = blockIdx.x % words.m();
    const double* prefixes = words.prefixes + b * words.m() * words.channels;
    BetweenTile<Real> tile(words.columns(), false);
    const int64_t channel = threadIdx.x < words.channels ? threadIdx.x : 0;
    Extremes kept(high > 0 ? prefixes[(high - 1) * words.channels + channel] : 0, high);
    for (int64_t first = high; first >= 0; first -= kTile) {
        for (int i = threadIdx.x; i < 2 * kTile; i += blockDim.x) {
            const int side = i / kTile;
            const int64_t low = first - i % kTile;
            const bool arc = words.has_arc(side, low, high);
            tile.on[i] = arc ? on_scores[words.score(side, b, low, high)] : Real(0);
        }
        see_leftwards(words, prefixes, high, first, kept, tile);
        for (int side = 0; side < 2; ++side) {
            const Real* on = tile.on + side * kTile;
            bool any = false;
            for (int j = 0; j < kTile; ++j) any = any || on[j] != 0;
            if (!any) continue;
            const auto wanted = [&](int j) { return on[j] != 0; };
            for (int64_t k = threadIdx.x; k < words.size; k += blockDim.x) {
                const auto other = [&](int j) {
                    return words.left(side, b, first - j)[k] +
                           words.place(side, high - (first - j) < 2)[k];
                };
                Real hidden[kTile], sum = 0;
                hidden_of_tile<kTile>(words, tile, side, k, 0, 1, words.right(side, b, high)[k],
                                      wanted, other, hidden);
#pragma unroll
                for (int j = 0; j < kTile; ++j)
                    sum += on[j] * (1 - hidden[j] * hidden[j]) * words.v[k];
                (side ? on_heads + words.head(b, high)
                      : on_dependents + words.dependent(b, high))[k] += sum;
            }
        }
        __syncthreads();
    }
}

}  // namespace sparsewood

#define SPARSEWOOD_BETWEEN(name, Real)                                                             \
    extern "C" __global__ void name##_score(                                                       \
        const Real* heads, const Real* dependents, const double* prefixes, const Real* table,      \
        const Real* v, int64_t n, int64_t size, int64_t channels, Real* scores) {                  \
        sparsewood::score_between<Real>(                                                           \
            {heads, dependents, table, v, prefixes, n, size, channels}, scores);                   \
    }                                                                                              \
    extern "C" __global__ void name##_backward_left(                                               \
        const Real* heads, const Real* dependents, const double* prefixes, const Real* table,      \
        const Real* v, int64_t n, int64_t size, int64_t channels, const Real* transposed,          \
        const Real* on_scores, Real* on_heads, Real* on_dependents, Real* on_table,                \
        double* on_prefixes, int64_t blocks) {                                                     \
        sparsewood::backward_left_words<Real>(                                                     \
            {heads, dependents, table, v, prefixes, n, size, channels}, transposed, on_scores,     \
            on_heads, on_dependents, on_table, on_prefixes, blocks);                               \
    }                                                                                              \
    extern "C" __global__ void name##_backward_right(                                              \
        const Real* heads, const Real* dependents, const double* prefixes, const Real* table,      \
        const Real* v, int64_t n, int64_t size, int64_t channels, const Real* on_scores,           \
        Real* on_heads, Real* on_dependents) {                                                     \
        sparsewood::backward_right_words<Real>(                                                    \
            {heads, dependents, table, v, prefixes, n, size, channels}, on_scores, on_heads,       \
            on_dependents);                                                                        \
    }
SPARSEWOOD_BETWEEN(between_float32, float)
SPARSEWOOD_BETWEEN(between_float64, double)
