// v^T tanh(head + dependent) for all pairs of words, and its gradients. The hidden layer of all
// pairs is never stored. heads (batch, m, size), dependents (batch, n, size).
#pragma once

#include "cuda/block.cuh"

namespace sparsewood {

// Scores (batch, n, m): one block per dependent, whose warps loop over the heads.
template <class Real>
__device__ void score_pairs(const Real* heads, const Real* dependents, const Real* v, Real* scores,
                            int64_t n, int64_t m, int64_t size) {
    const int64_t row = blockIdx.x, lane = threadIdx.x % 32;
    const Real* dependent = dependents + row * size;
    for (int64_t j = threadIdx.x / 32; j < m; j += blockDim.x / 32) {
        const Real* head = heads + (row / n * m + j) * size;
        Real sum = 0;
        for (int64_t k = lane; k < size; k += 32) sum += v[k] * tanh(head[k] + dependent[k]);
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (lane == 0) scores[row * m + j] = sum;
    }
}

// The gradients of dependents and, row by row, of v; in further blocks the gradients of heads.
template <class Real>
__device__ void backward_pairs(const Real* heads, const Real* dependents, const Real* v,
                               const Real* on_scores, Real* on_heads, Real* on_dependents,
                               Real* on_v, int64_t batch, int64_t n, int64_t m, int64_t size) {
    const bool of_head = int64_t(blockIdx.x) >= batch * n;
    const int64_t row = blockIdx.x - (of_head ? batch * n : 0);
    const int64_t b = row / (of_head ? m : n), count = of_head ? n : m;
    const Real* others = of_head ? dependents + b * n * size : heads + b * m * size;
    const Real* slope = on_scores + (of_head ? b * n * m + row % m : row * m);
    const int64_t stride = of_head ? m : 1;
    for (int64_t k = threadIdx.x; k < size; k += blockDim.x) {
        const Real own = (of_head ? heads : dependents)[row * size + k];
        Real sum = 0, on_weight = 0;
        for (int64_t j = 0; j < count; ++j) {
            const Real hidden = tanh(own + others[j * size + k]), on = slope[j * stride];
            sum += on * (1 - hidden * hidden);
            on_weight += on * hidden;
        }
        (of_head ? on_heads : on_dependents)[row * size + k] = sum * v[k];
        if (!of_head) on_v[row * size + k] = on_weight;
    }
}

}  // namespace sparsewood

#define SPARSEWOOD_PAIRS(name, Real)                                                               \
    extern "C" __global__ void name##_score(const Real* heads, const Real* dependents,             \
                                            const Real* v, Real* scores, int64_t n, int64_t m,     \
                                            int64_t size) {                                        \
        sparsewood::score_pairs<Real>(heads, dependents, v, scores, n, m, size);                   \
    }                                                                                              \
    extern "C" __global__ void name##_backward(                                                    \
        const Real* heads, const Real* dependents, const Real* v, const Real* on_scores,           \
        Real* on_heads, Real* on_dependents, Real* on_v, int64_t batch, int64_t n, int64_t m,      \
        int64_t size) {                                                                            \
        sparsewood::backward_pairs<Real>(heads, dependents, v, on_scores, on_heads, on_dependents, \
                                         on_v, batch, n, m, size);                                 \
    }
SPARSEWOOD_PAIRS(pairs_float32, float)
SPARSEWOOD_PAIRS(pairs_float64, double)
