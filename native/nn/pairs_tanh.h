// Scores of all pairs by one hidden layer, which is never stored: v^T tanh(a_j + b_i).
#pragma once

#include <cstdint>
#include <vector>

#include "nn/tanh.h"

namespace sparsewood {

// The vectors of a sentence: heads (m, size), dependents (n, size), v (size).
struct PairVectors {
    const float *heads, *dependents, *v;
    int64_t m, n, size;
};

constexpr int64_t kLanes = 16;  // separate sums, so that loops vectorize

// `padded` is `size` rounded up to a multiple of the lanes; numbers beyond `size` stay 0.
SPARSEWOOD_INLINE void score_pairs(const PairVectors& pairs, float* scores,
                                   std::vector<float>& padded) {
    float* terms = padded.data();
    const int64_t length = static_cast<int64_t>(padded.size());
    for (int64_t i = 0; i < pairs.n; ++i) {
        const float* dependent = pairs.dependents + i * pairs.size;
        for (int64_t j = 0; j < pairs.m; ++j) {
            const float* head = pairs.heads + j * pairs.size;
            SPARSEWOOD_APART
            for (int64_t d = 0; d < pairs.size; ++d)
                terms[d] = pairs.v[d] * fast_tanh(head[d] + dependent[d]);
            float lanes[kLanes] = {};
            for (int64_t d = 0; d < length; d += kLanes)
                for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += terms[d + lane];
            float sum = 0;
            for (float lane : lanes) sum += lane;
            scores[i * pairs.m + j] = sum;
        }
    }
}

// The gradients of heads, dependents and v (all zero on entry), given those of the scores. Pairs
// without a gradient, which are most pairs for a sparse posterior, cost nothing.
SPARSEWOOD_INLINE void pass_to_pairs(const PairVectors& pairs, const float* on_scores,
                                     float* on_heads, float* on_dependents, float* on_v) {
    for (int64_t i = 0; i < pairs.n; ++i) {
        const float* dependent = pairs.dependents + i * pairs.size;
        float* on_dependent = on_dependents + i * pairs.size;
        for (int64_t j = 0; j < pairs.m; ++j) {
            const float on = on_scores[i * pairs.m + j];
            if (on == 0) continue;
            const float* head = pairs.heads + j * pairs.size;
            float* on_head = on_heads + j * pairs.size;
            SPARSEWOOD_APART
            for (int64_t d = 0; d < pairs.size; ++d) {
                const float t = fast_tanh(head[d] + dependent[d]);
                const float slope = on * (1 - t * t) * pairs.v[d];
                on_head[d] += slope;
                on_dependent[d] += slope;
                on_v[d] += on * t;
            }
        }
    }
}

}  // namespace sparsewood
