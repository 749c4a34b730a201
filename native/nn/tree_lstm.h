// The elementwise part of a Child-Sum TreeLSTM (Tai et al. 2015, section 3.1) on one level of a
// forest; the caller computes the matrix products between the levels.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/tanh.h"

namespace sparsewood {

// A forest, and the tensors that the forward pass saves for the backward pass.
template <class Real>
struct TreeLstm {
    const int64_t *row, *child_offsets, *children;
    int64_t hidden;
    Real* gates;   // (N, 3 hidden) i, o, u
    Real* forget;  // (E, hidden) f of each edge
    Real* c;       // (N, hidden)
};

// The states of the nodes in [begin, end), whose children are finished. On entry the gates of nodes
// with children hold U sum_k h_k. inputs[row] is W x + b, in the order i, o, u, f; products[k] is
// U_f h_k.
template <class Real>
SPARSEWOOD_INLINE void lstm_up(const TreeLstm<Real>& net, const Real* inputs, const Real* products,
                               Real* h, int64_t begin, int64_t end) {
    const int64_t n = net.hidden;
    for (int64_t j = begin; j < end; ++j) {
        const int64_t first = net.child_offsets[j], last = net.child_offsets[j + 1];
        const Real* x = inputs + net.row[j] * 4 * n;
        Real *g = net.gates + j * 3 * n, *c = net.c + j * n, *out = h + j * n;
        if (first == last) {
            SPARSEWOOD_APART
            for (int64_t d = 0; d < 3 * n; ++d) g[d] = x[d];
        } else {
            SPARSEWOOD_APART
            for (int64_t d = 0; d < 3 * n; ++d) g[d] += x[d];
        }
        SPARSEWOOD_APART
        for (int64_t d = 0; d < n; ++d) {
            g[d] = fast_sigmoid(g[d]);
            g[n + d] = fast_sigmoid(g[n + d]);
            g[2 * n + d] = fast_tanh(g[2 * n + d]);
            c[d] = g[d] * g[2 * n + d];
        }
        for (int64_t e = first; e < last; ++e) {
            const int64_t k = net.children[e];
            const Real *product = products + k * n, *below = net.c + k * n;
            Real* f = net.forget + e * n;
            SPARSEWOOD_APART
            for (int64_t d = 0; d < n; ++d) {
                f[d] = fast_sigmoid(x[3 * n + d] + product[d]);
                c[d] += f[d] * below[d];
            }
        }
        SPARSEWOOD_APART
        for (int64_t d = 0; d < n; ++d) out[d] = g[n + d] * fast_tanh(c[d]);
    }
}

// sums[j] = sum_k h_k for the nodes in [begin, end), all of which have children.
template <class Real>
SPARSEWOOD_INLINE void sum_children(const TreeLstm<Real>& net, const Real* h, Real* sums,
                                    int64_t begin, int64_t end) {
    const int64_t n = net.hidden;
    for (int64_t j = begin; j < end; ++j) {
        Real* sum = sums + j * n;
        for (int64_t e = net.child_offsets[j]; e < net.child_offsets[j + 1]; ++e) {
            const Real* value = h + net.children[e] * n;
            if (e == net.child_offsets[j]) {
                SPARSEWOOD_APART
                for (int64_t d = 0; d < n; ++d) sum[d] = value[d];
            } else {
                SPARSEWOOD_APART
                for (int64_t d = 0; d < n; ++d) sum[d] += value[d];
            }
        }
    }
}

// The edges grouped by child: those above node k are edges[offsets[k] : offsets[k + 1]].
struct EdgesAbove {
    std::vector<int64_t> offsets, edges;

    EdgesAbove(const int64_t* children, int64_t count, int64_t nodes)
        : offsets(static_cast<size_t>(nodes) + 1), edges(static_cast<size_t>(count)) {
        for (int64_t e = 0; e < count; ++e) ++offsets[static_cast<size_t>(children[e]) + 1];
        for (size_t k = 1; k < offsets.size(); ++k) offsets[k] += offsets[k - 1];
        std::vector<int64_t> next(offsets);
        for (int64_t e = 0; e < count; ++e)
            edges[static_cast<size_t>(next[static_cast<size_t>(children[e])]++)] = e;
    }
};

// The gradients of a backward pass.
template <class Real>
struct OnTreeLstm {
    const int64_t *parents, *offsets, *edges;  // parent of each edge; the edges above each node
    const Real* given;                         // (N, hidden) of h, from outside the forest
    Real* h;                                   // (N, hidden) total; for a finished node, that of
                                               // the sum over its children
    Real* c;                                   // (N, hidden)
    Real* gates;                               // (N, 3 hidden), not set at leaves
    Real* products;                            // (word nodes, hidden)
    Real* inputs;                              // (rows, 4 hidden)
    unsigned char* reached;                    // (rows) whether an input has been written to
};

// Collects for the nodes in [begin, end) the gradients of their c and products from their parents,
// which are finished. The gradient of h still lacks the contribution through the product.
template <class Real>
SPARSEWOOD_INLINE void lstm_collect(const TreeLstm<Real>& net, const OnTreeLstm<Real>& on,
                                    int64_t begin, int64_t end) {
    const int64_t n = net.hidden;
    for (int64_t j = begin; j < end; ++j) {
        const Real *given = on.given + j * n, *c = net.c + j * n;
        Real *on_h = on.h + j * n, *on_c = on.c + j * n, *product = on.products + j * n;
        const int64_t first = on.offsets[j], last = on.offsets[j + 1];
        if (first == last) {  // a root
            for (int64_t d = 0; d < n; ++d) on_h[d] = given[d];
            for (int64_t d = 0; d < n; ++d) on_c[d] = 0;
        }
        for (int64_t a = first; a < last; ++a) {
            const int64_t e = on.edges[a], p = on.parents[e];
            const Real *f = net.forget + e * n, *sum = on.h + p * n, *above = on.c + p * n;
            if (a == first) {
                SPARSEWOOD_APART
                for (int64_t d = 0; d < n; ++d) {
                    const Real passed = above[d] * f[d];
                    on_h[d] = given[d] + sum[d];
                    on_c[d] = passed;
                    product[d] = passed * c[d] * (1 - f[d]);
                }
            } else {
                SPARSEWOOD_APART
                for (int64_t d = 0; d < n; ++d) {
                    const Real passed = above[d] * f[d];
                    on_h[d] += sum[d];
                    on_c[d] += passed;
                    product[d] += passed * c[d] * (1 - f[d]);
                }
            }
        }
    }
}

// The gradients of gates and inputs of the nodes in [begin, end), given the complete gradients of h
// and c.
template <class Real>
SPARSEWOOD_INLINE void lstm_down(const TreeLstm<Real>& net, const OnTreeLstm<Real>& on,
                                 int64_t begin, int64_t end) {
    const int64_t n = net.hidden;
    for (int64_t j = begin; j < end; ++j) {
        const int64_t first = net.child_offsets[j], last = net.child_offsets[j + 1];
        const Real *gates = net.gates + j * 3 * n, *c = net.c + j * n, *above = on.h + j * n;
        Real *on_c = on.c + j * n, *x = on.inputs + net.row[j] * 4 * n;
        if (!on.reached[net.row[j]]) {
            on.reached[net.row[j]] = 1;
            for (int64_t d = 0; d < 4 * n; ++d) x[d] = 0;
        }
        // Leaves, which need no row of their own, use the row of the first node.
        Real* g = on.gates + (first == last ? 0 : j) * 3 * n;
        SPARSEWOOD_APART
        for (int64_t d = 0; d < n; ++d) {
            const Real i = gates[d], o = gates[n + d], u = gates[2 * n + d], t = fast_tanh(c[d]);
            const Real state = on_c[d] + above[d] * o * (1 - t * t);
            on_c[d] = state;
            g[d] = state * u * i * (1 - i);
            g[n + d] = above[d] * t * o * (1 - o);
            g[2 * n + d] = state * i * (1 - u * u);
        }
        SPARSEWOOD_APART
        for (int64_t d = 0; d < 3 * n; ++d) x[d] += g[d];
        for (int64_t e = first; e < last; ++e) {
            const Real *f = net.forget + e * n, *below = net.c + net.children[e] * n;
            SPARSEWOOD_APART
            for (int64_t d = 0; d < n; ++d) x[3 * n + d] += on_c[d] * f[d] * below[d] * (1 - f[d]);
        }
    }
}

}  // namespace sparsewood
