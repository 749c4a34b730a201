// The elementwise part of the Child-Sum TreeLSTM (Tai et al. 2015, section 3.1), a cell for
// levels.cuh. Blocks of W and U are in the order i, o, u, f.
#pragma once

#include "cuda/levels.cuh"

namespace sparsewood {

// Stores i, o, u in `gates`, f of each edge in `first` and c in `second`.
struct LstmCell {
    static constexpr int kGates = 4;
    static constexpr bool kCarries = true;  // c, which has its own gradient

    // Computes h of node j, and writes its arrays if requested.
    template <class Real>
    static __device__ Real up(const Pass<Real>& pass, const Real* input, int64_t j, int64_t d,
                              bool keep) {
        const int64_t n = pass.hidden;
        Real i = input[d], o = input[n + d], u = input[2 * n + d], c = 0;
        const Real f = input[3 * n + d];
        for (int64_t e = pass.child_offsets[j]; e < pass.child_offsets[j + 1]; ++e) {
            const int64_t k = pass.children[e];
            const Real* product = pass.products + 4 * k * n;
            const Real w = pass.weight(e);
            i += w * product[d];
            o += w * product[n + d];
            u += w * product[2 * n + d];
            const Real gate = sigmoid(f + w * product[3 * n + d]);
            if (keep) pass.first[e * n + d] = gate;
            c += gate * w * pass.second[k * n + d];
        }
        i = sigmoid(i), o = sigmoid(o), u = tanh(u);
        c += i * u;
        const Real h = o * tanh(c);
        if (keep) {
            Real* gates = pass.gates + 3 * j * n;
            gates[d] = i, gates[n + d] = o, gates[2 * n + d] = u;
            pass.second[j * n + d] = c;
            pass.h[j * n + d] = h;
        }
        return h;
    }

    // Computes the gradients of the blocks i, o and u of node j; returns the gradient of c.
    template <class Real>
    static __device__ Real at(const Pass<Real>& pass, int64_t j, int64_t d, Real* on) {
        const int64_t n = pass.hidden;
        const Real* gates = pass.gates + 3 * j * n;
        const Real i = gates[d], o = gates[n + d], u = gates[2 * n + d];
        const Real t = tanh(pass.second[j * n + d]), above = pass.on_h[j * n + d];
        Real on_c = above * o * (1 - t * t);
        if (j < pass.word_nodes) on_c += pass.on_second[j * n + d];
        on[0] = on_c * u * i * (1 - i);
        on[1] = above * t * o * (1 - o);
        on[2] = on_c * i * (1 - u * u);
        return on_c;
    }

    // Computes the gradients of the product of edge e with child k; returns the gradient of c of k.
    template <class Real>
    static __device__ Real down(const Pass<Real>& pass, int64_t e, int64_t k, int64_t d, Real* on) {
        const int64_t n = pass.hidden;
        const Real f = pass.first[e * n + d];
        const Real passed = at(pass, pass.parents[e], d, on) * f;
        on[3] = passed * pass.weight(e) * pass.second[k * n + d] * (1 - f);
        return passed;
    }

    template <class Real>
    static __device__ void to_input(const Pass<Real>& pass, int64_t j, int64_t d, Real* on) {
        const int64_t n = pass.hidden;
        const Real on_c = at(pass, j, d, on);
        on[3] = 0;
        for (int64_t e = pass.child_offsets[j]; e < pass.child_offsets[j + 1]; ++e) {
            const Real f = pass.first[e * n + d];
            const Real below = pass.weight(e) * pass.second[pass.children[e] * n + d];
            on[3] += on_c * f * below * (1 - f);
        }
    }

    template <class Real>
    static __device__ const Real* state(const Pass<Real>& pass, int64_t k) {
        return pass.second + k * pass.hidden;
    }
};

}  // namespace sparsewood

SPARSEWOOD_LEVEL_KERNELS(lstm_float32, LstmCell, float)
SPARSEWOOD_LEVEL_KERNELS(lstm_float64, LstmCell, double)
