// The elementwise part of an LSTM on one word of each sentence; the matrix products between the
// words are the caller's. A row of `gates` holds four blocks of `hidden` numbers in the order of
// torch.nn.LSTM: i, f, g, o.
#pragma once

#include <cstdint>

#include "nn/tanh.h"

namespace sparsewood {

// One direction of a batch whose sentences are sorted, the longest first: word t of those that
// have one is in the rows from starts[t] on, one for each.
template <class Real>
struct Lstm {
    const int64_t* starts;
    int64_t hidden;
    Real* gates;  // (words, 4 hidden)
    Real* c;      // (words, hidden)
};

// Word t. On entry its gates hold W x + b + U h of the word before, on return i, f, g and o.
template <class Real>
SPARSEWOOD_INLINE void lstm_step_up(const Lstm<Real>& net, Real* h, int64_t t) {
    const int64_t n = net.hidden, rows = net.starts[t + 1] - net.starts[t];
    for (int64_t r = 0; r < rows; ++r) {
        const int64_t row = net.starts[t] + r;
        Real *gates = net.gates + row * 4 * n, *c = net.c + row * n, *out = h + row * n;
        SPARSEWOOD_APART
        for (int64_t d = 0; d < n; ++d) {
            gates[d] = fast_sigmoid(gates[d]);
            gates[n + d] = fast_sigmoid(gates[n + d]);
            gates[2 * n + d] = fast_tanh(gates[2 * n + d]);
            gates[3 * n + d] = fast_sigmoid(gates[3 * n + d]);
            c[d] = gates[d] * gates[2 * n + d];
        }
        if (t > 0) {
            const Real* before = net.c + (net.starts[t - 1] + r) * n;
            SPARSEWOOD_APART
            for (int64_t d = 0; d < n; ++d) c[d] += gates[n + d] * before[d];
        }
        SPARSEWOOD_APART
        for (int64_t d = 0; d < n; ++d) out[d] = gates[3 * n + d] * fast_tanh(c[d]);
    }
}

// Word t: from the gradient on its h, and from what comes from the word after by h and by c
// (sentences, hidden), those on its gates; and what goes to the word before by c.
template <class Real>
SPARSEWOOD_INLINE void lstm_step_down(const Lstm<Real>& net, const Real* on_h, const Real* by_h,
                                      Real* by_c, Real* on_gates, int64_t t) {
    const int64_t n = net.hidden, rows = net.starts[t + 1] - net.starts[t];
    for (int64_t r = 0; r < rows; ++r) {
        const int64_t row = net.starts[t] + r;
        const Real *gates = net.gates + row * 4 * n, *c = net.c + row * n;
        const Real *given = on_h + row * n, *after = by_h + r * n;
        Real *carry = by_c + r * n, *on = on_gates + row * 4 * n;
        SPARSEWOOD_APART
        for (int64_t d = 0; d < n; ++d) {
            const Real i = gates[d], f = gates[n + d], g = gates[2 * n + d], o = gates[3 * n + d];
            const Real u = fast_tanh(c[d]), above = given[d] + after[d];
            const Real state = carry[d] + above * o * (1 - u * u);
            on[d] = state * g * i * (1 - i);
            on[n + d] = state * f * (1 - f);
            on[2 * n + d] = state * i * (1 - g * g);
            on[3 * n + d] = above * u * o * (1 - o);
            carry[d] = state * f;
        }
        const Real* before = t > 0 ? net.c + (net.starts[t - 1] + r) * n : nullptr;
        SPARSEWOOD_APART
        for (int64_t d = 0; d < n; ++d) on[n + d] *= before ? before[d] : 0;
    }
}

}  // namespace sparsewood
