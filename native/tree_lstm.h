// The elementwise part of a Child-Sum TreeLSTM (Tai et al. 2015, section 3.1) on one level of a
// forest; the matrix products between the levels are the caller's. A row of `gates` holds four
// blocks of `hidden` numbers in the order i, o, u, f.
#pragma once

#include <cmath>
#include <cstdint>

#include "wide.h"

// Before a loop whose rows do not overlap: too many to be checked for that at run time.
#if defined(__clang__)
#define SPARSEWOOD_APART _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define SPARSEWOOD_APART _Pragma("GCC ivdep")
#else
#define SPARSEWOOD_APART
#endif

namespace sparsewood {

// tanh in double is the library's; in float a rational minimax approximation (the one of Eigen),
// which vectorizes and is right to a few units in the last place.
SPARSEWOOD_INLINE double fast_tanh(double x) { return std::tanh(x); }

SPARSEWOOD_INLINE float fast_tanh(float x) {
    const float bound = 7.90531110763549805f;  // beyond it float tanh is 1
    x = x > bound ? bound : x;
    x = x < -bound ? -bound : x;
    const float s = x * x;
    float p = -2.76076847742355e-16f;
    p = p * s + 2.00018790482477e-13f;
    p = p * s - 8.60467152213735e-11f;
    p = p * s + 5.12229709037114e-08f;
    p = p * s + 1.48572235717979e-05f;
    p = p * s + 6.37261928875436e-04f;
    p = p * s + 4.89352455891786e-03f;
    float q = 1.19825839466702e-06f;
    q = q * s + 1.18534705686654e-04f;
    q = q * s + 2.26843463243900e-03f;
    q = q * s + 4.89352518554385e-03f;
    return x * p / q;
}

template <class Real>
SPARSEWOOD_INLINE Real fast_sigmoid(Real x) {
    return Real(0.5) + Real(0.5) * fast_tanh(Real(0.5) * x);
}

// The edges of a forest and what the forward pass leaves for the backward pass.
template <class Real>
struct TreeLstm {
    const int64_t *child_offsets, *children;
    int64_t hidden;
    Real* gates;   // (N, 4 hidden)
    Real* forget;  // (E, hidden) f of each edge
    Real* c;       // (N, hidden)
};

// The nodes in [begin, end), whose children are done. On entry their gates hold
// W x + b + U sum_k h_k, in the block f only W x + b; on return i, o and u, and f as it was.
// products[k] is U_f h_k.
template <class Real>
SPARSEWOOD_INLINE void lstm_up(const TreeLstm<Real>& net, const Real* products, Real* h,
                               int64_t begin, int64_t end) {
    const int64_t n = net.hidden;
    for (int64_t j = begin; j < end; ++j) {
        Real *g = net.gates + j * 4 * n, *c = net.c + j * n;
        for (int64_t d = 0; d < n; ++d) c[d] = 0;
        for (int64_t e = net.child_offsets[j]; e < net.child_offsets[j + 1]; ++e) {
            const int64_t k = net.children[e];
            const Real *product = products + k * n, *below = net.c + k * n;
            Real* f = net.forget + e * n;
            SPARSEWOOD_APART
            for (int64_t d = 0; d < n; ++d) {
                f[d] = fast_sigmoid(g[3 * n + d] + product[d]);
                c[d] += f[d] * below[d];
            }
        }
        Real* out = h + j * n;
        SPARSEWOOD_APART
        for (int64_t d = 0; d < n; ++d) {
            const Real i = fast_sigmoid(g[d]), o = fast_sigmoid(g[n + d]),
                       u = fast_tanh(g[2 * n + d]), state = c[d] + i * u;
            g[d] = i;
            g[n + d] = o;
            g[2 * n + d] = u;
            c[d] = state;
            out[d] = o * fast_tanh(state);
        }
    }
}

// From the gradients on h and c of the nodes in [begin, end): writes those on their gates and adds
// to those on the products and c of their children. on_c is used up.
template <class Real>
SPARSEWOOD_INLINE void lstm_down(const TreeLstm<Real>& net, const Real* on_h, Real* on_c,
                                 Real* on_gates, Real* on_products, int64_t begin, int64_t end) {
    const int64_t n = net.hidden;
    for (int64_t j = begin; j < end; ++j) {
        const Real *gates = net.gates + j * 4 * n, *c = net.c + j * n;
        const Real* above = on_h + j * n;
        Real *on_state = on_c + j * n, *g = on_gates + j * 4 * n;
        SPARSEWOOD_APART
        for (int64_t d = 0; d < n; ++d) {
            const Real i = gates[d], o = gates[n + d], u = gates[2 * n + d], t = fast_tanh(c[d]);
            const Real state = on_state[d] + above[d] * o * (1 - t * t);
            on_state[d] = state;
            g[d] = state * u * i * (1 - i);
            g[n + d] = above[d] * t * o * (1 - o);
            g[2 * n + d] = state * i * (1 - u * u);
            g[3 * n + d] = 0;
        }
        for (int64_t e = net.child_offsets[j]; e < net.child_offsets[j + 1]; ++e) {
            const int64_t k = net.children[e];
            const Real *f = net.forget + e * n, *below = net.c + k * n;
            Real *product = on_products + k * n, *on_below = on_c + k * n;
            SPARSEWOOD_APART
            for (int64_t d = 0; d < n; ++d) {
                const Real passed = on_state[d] * f[d], on_f = passed * below[d] * (1 - f[d]);
                product[d] += on_f;
                g[3 * n + d] += on_f;
                on_below[d] += passed;
            }
        }
    }
}

// out[to[e]] += values[from[e]] for the edges in [begin, end).
template <class Real>
SPARSEWOOD_INLINE void add_rows(Real* out, const int64_t* to, const Real* values,
                                const int64_t* from, int64_t columns, int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
        Real* sum = out + to[e] * columns;
        const Real* value = values + from[e] * columns;
        SPARSEWOOD_APART
        for (int64_t d = 0; d < columns; ++d) sum[d] += value[d];
    }
}

}  // namespace sparsewood
