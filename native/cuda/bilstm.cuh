// A bidirectional LSTM over padded sentences: all steps of a direction in one launch.
//
// A block runs one direction of a few sentences from end to end, so that blocks need not wait for
// each other; the recurrent weights are read from the device's cache at each step. The input
// product W x + b is computed before, the gradients of words and weights are products computed
// after. Gates are in the order i, f, g, o.
#pragma once

#include "cuda/block.cuh"

namespace sparsewood {

// Sentence b consists of the first `lengths[b]` of n words. Tables are (batch, n, 2 directions, .).
template <class Real>
struct Sentences {
    const int64_t* lengths;
    int64_t batch, n, hidden, direction, first;  // of the block: direction and first sentence

    __device__ int64_t length(int64_t s) const {
        return first + s < batch ? lengths[first + s] : 0;
    }
    template <int kTogether>
    __device__ int64_t longest() const {
        int64_t most = 0;
        for (int64_t s = 0; s < kTogether; ++s) most = length(s) > most ? length(s) : most;
        return most;
    }
    // The row of the t-th word of a sentence, in the order of the direction.
    __device__ int64_t row(int64_t s, int64_t t) const {
        const int64_t position = direction == 0 ? t : length(s) - 1 - t;
        return ((first + s) * n + position) * 2 + direction;
    }
};

template <class Real>
__device__ Real squash(Real x) {
    return Real(1) / (Real(1) + exp(-x));
}

// sums[s, j] = sum_k rows[k, j] x[s, k] for j < columns, the rows `stride` numbers apart.
template <class Real, int kTogether>
__device__ void multiply(const Real* rows, int64_t stride, int64_t count, const Real* x,
                         int64_t width, Real* sums) {
    for (int s = 0; s < kTogether; ++s) sums[s] = 0;
#pragma unroll 10
    for (int64_t k = 0; k < count; ++k) {
        const Real weight = rows[k * stride];
#pragma unroll
        for (int s = 0; s < kTogether; ++s) sums[s] += weight * x[s * width + k];
    }
}

// States, previous states, and i, f, g, o, c of each word. `across` is (2, hidden, 4 hidden).
template <class Real, int kTogether>
__device__ void run_up(const Sentences<Real>& of, const Real* inputs, const Real* across,
                       Real* states, Real* previous, Real* kept) {
    const int64_t size = of.hidden, gates = 4 * size;
    Real* h = reinterpret_cast<Real*>(dynamic_shared());
    Real* c = h + kTogether * size;
    Real* sums = c + kTogether * size;
    for (int64_t e = threadIdx.x; e < kTogether * size; e += blockDim.x) h[e] = c[e] = 0;
    const int64_t steps = of.template longest<kTogether>();
    for (int64_t t = 0; t < steps; ++t) {
        __syncthreads();
        for (int64_t j = threadIdx.x; j < gates; j += blockDim.x) {
            Real sum[kTogether];
            multiply<Real, kTogether>(across + of.direction * size * gates + j, gates, size, h,
                                      size, sum);
            for (int s = 0; s < kTogether; ++s) sums[s * gates + j] = sum[s];
        }
        __syncthreads();
        for (int64_t e = threadIdx.x; e < kTogether * size; e += blockDim.x) {
            const int64_t s = e / size, d = e % size;
            if (t >= of.length(s)) continue;
            const int64_t row = of.row(s, t);
            const Real *input = inputs + row * gates + d, *sum = sums + s * gates + d;
            const Real i = squash(input[0] + sum[0]), f = squash(input[size] + sum[size]);
            const Real g = tanh(input[2 * size] + sum[2 * size]);
            const Real o = squash(input[3 * size] + sum[3 * size]);
            Real* keep = kept + row * 5 * size + d;
            previous[row * size + d] = h[e];
            c[e] = f * c[e] + i * g;
            h[e] = o * tanh(c[e]);
            states[row * size + d] = h[e];
            keep[0] = i, keep[size] = f, keep[2 * size] = g, keep[3 * size] = o;
            keep[4 * size] = c[e];
        }
    }
}

// The gradients of the inputs, given those of the states. `weight` is (2, 4 hidden, hidden).
template <class Real, int kTogether>
__device__ void run_down(const Sentences<Real>& of, const Real* on_states, const Real* weight,
                         const Real* kept, Real* on_inputs) {
    const int64_t size = of.hidden, gates = 4 * size;
    Real* on_h = reinterpret_cast<Real*>(dynamic_shared());
    Real* on_c = on_h + kTogether * size;
    Real* on = on_c + kTogether * size;          // (together, gates)
    Real* shares = on + kTogether * gates;       // (together, gates): share of each gate in on_h
    for (int64_t e = threadIdx.x; e < kTogether * size; e += blockDim.x) on_h[e] = on_c[e] = 0;
    for (int64_t t = of.template longest<kTogether>() - 1; t >= 0; --t) {
        __syncthreads();
        for (int64_t e = threadIdx.x; e < kTogether * size; e += blockDim.x) {
            const int64_t s = e / size, d = e % size;
            Real* mine = on + s * gates + d;
            if (t >= of.length(s)) {
                mine[0] = mine[size] = mine[2 * size] = mine[3 * size] = 0;
                continue;
            }
            const int64_t row = of.row(s, t);
            const Real* keep = kept + row * 5 * size + d;
            const Real i = keep[0], f = keep[size], g = keep[2 * size], o = keep[3 * size];
            const Real squashed = tanh(keep[4 * size]);
            const Real before = t == 0 ? Real(0) : kept[of.row(s, t - 1) * 5 * size + 4 * size + d];
            const Real above = on_states[row * size + d] + on_h[e];
            const Real cell = on_c[e] + above * o * (1 - squashed * squashed);
            mine[0] = cell * g * i * (1 - i);
            mine[size] = cell * before * f * (1 - f);
            mine[2 * size] = cell * i * (1 - g * g);
            mine[3 * size] = above * squashed * o * (1 - o);
            on_c[e] = cell * f;
            Real* out = on_inputs + row * gates + d;
            for (int gate = 0; gate < 4; ++gate) out[gate * size] = mine[gate * size];
        }
        __syncthreads();
        for (int64_t j = threadIdx.x; j < gates; j += blockDim.x) {
            const int64_t gate = j / size, k = j % size;
            Real sum[kTogether];
            multiply<Real, kTogether>(weight + (of.direction * gates + gate * size) * size + k,
                                      size, size, on + gate * size, gates, sum);
            for (int s = 0; s < kTogether; ++s) shares[s * gates + j] = sum[s];
        }
        __syncthreads();
        for (int64_t e = threadIdx.x; e < kTogether * size; e += blockDim.x) {
            const Real* share = shares + e / size * gates + e % size;
            on_h[e] = share[0] + share[size] + share[2 * size] + share[3 * size];
        }
    }
}

}  // namespace sparsewood

// One block per direction of `together` sentences: 2 * ceil(batch / together) blocks.
#define SPARSEWOOD_BILSTM(name, Real, together)                                                    \
    extern "C" __global__ void name##_up_##together(                                               \
        const Real* inputs, const Real* across, const int64_t* lengths, Real* states,              \
        Real* previous, Real* kept, int64_t batch, int64_t n, int64_t hidden) {                    \
        const sparsewood::Sentences<Real> of{lengths, batch, n, hidden, blockIdx.x % 2,            \
                                             int64_t(blockIdx.x) / 2 * together};                  \
        sparsewood::run_up<Real, together>(of, inputs, across, states, previous, kept);            \
    }                                                                                              \
    extern "C" __global__ void name##_down_##together(                                             \
        const Real* on_states, const Real* weight, const int64_t* lengths, const Real* kept,       \
        Real* on_inputs, int64_t batch, int64_t n, int64_t hidden) {                               \
        const sparsewood::Sentences<Real> of{lengths, batch, n, hidden, blockIdx.x % 2,            \
                                             int64_t(blockIdx.x) / 2 * together};                  \
        sparsewood::run_down<Real, together>(of, on_states, weight, kept, on_inputs);              \
    }
#define SPARSEWOOD_BILSTM_ALL(name, Real)                                                          \
    SPARSEWOOD_BILSTM(name, Real, 1)                                                               \
    SPARSEWOOD_BILSTM(name, Real, 2)                                                               \
    SPARSEWOOD_BILSTM(name, Real, 4)

SPARSEWOOD_BILSTM_ALL(bilstm_float32, float)
SPARSEWOOD_BILSTM_ALL(bilstm_float64, double)
