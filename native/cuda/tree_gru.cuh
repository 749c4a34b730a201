// The elementwise part of the Child-Sum TreeGRU, a cell for levels.cuh; formulas in nn/tree_gru.py.
// Blocks of W and U are in the order r, z, v.
#pragma once

#include "cuda/levels.cuh"

namespace sparsewood {

// Stores r, z, v in `gates`, U_v s in `first` and s in `second`.
struct GruCell {
    static constexpr int kGates = 3;
    static constexpr bool kCarries = false;  // s is computed from the children's h

    // Computes h of node j, and writes its arrays if requested.
    template <class Real>
    static __device__ Real up(const Pass<Real>& pass, const Real* input, int64_t j, int64_t d,
                              bool keep) {
        const int64_t n = pass.hidden;
        Real r = input[d], z = input[n + d], past = 0, s = 0;
        for (int64_t e = pass.child_offsets[j]; e < pass.child_offsets[j + 1]; ++e) {
            const int64_t k = pass.children[e];
            const Real* product = pass.products + 3 * k * n;
            const Real w = pass.weight(e);
            r += w * product[d];
            z += w * product[n + d];
            past += w * product[2 * n + d];
            s += w * pass.h[k * n + d];
        }
        r = sigmoid(r), z = sigmoid(z);
        const Real v = tanh(input[2 * n + d] + r * past);
        const Real h = v + z * (s - v);
        if (keep) {
            Real* gates = pass.gates + 3 * j * n;
            gates[d] = r, gates[n + d] = z, gates[2 * n + d] = v;
            pass.first[j * n + d] = past;
            pass.second[j * n + d] = s;
            pass.h[j * n + d] = h;
        }
        return h;
    }

    template <class Real>
    static __device__ void to_input(const Pass<Real>& pass, int64_t j, int64_t d, Real* on) {
        const int64_t n = pass.hidden;
        const Real* gates = pass.gates + 3 * j * n;
        const Real r = gates[d], z = gates[n + d], v = gates[2 * n + d];
        const Real above = pass.on_h[j * n + d];
        on[2] = above * (1 - z) * (1 - v * v);
        on[0] = on[2] * pass.first[j * n + d] * r * (1 - r);
        on[1] = above * (pass.second[j * n + d] - v) * z * (1 - z);
    }

    // Computes the gradients of the product of edge e; returns the gradient of h not through U.
    template <class Real>
    static __device__ Real down(const Pass<Real>& pass, int64_t e, int64_t, int64_t d, Real* on) {
        const int64_t j = pass.parents[e], n = pass.hidden;
        const Real* gates = pass.gates + 3 * j * n;
        const Real r = gates[d], z = gates[n + d];
        to_input(pass, j, d, on);
        on[2] *= r;
        return pass.on_h[j * n + d] * z;
    }

    template <class Real>
    static __device__ const Real* state(const Pass<Real>& pass, int64_t k) {
        return pass.h + k * pass.hidden;
    }
};

}  // namespace sparsewood

SPARSEWOOD_LEVEL_KERNELS(gru_float32, GruCell, float)
SPARSEWOOD_LEVEL_KERNELS(gru_float64, GruCell, double)
