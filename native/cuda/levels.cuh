// Kernels shared by compositions over a forest, which run between the matrix products.
//
// The product U h_k of a node with all blocks of U is computed once and used by every parent. A
// level is then one kernel and one product. In the backward pass a node gathers from the edges
// above it, in order, and each contribution of a parent is recomputed per edge. So a level is again
// one kernel and one product, and sums do not depend on the order of threads. Small levels take one
// launch: each block computes the states of some nodes and a part of the product.
//
// A cell has `kGates` blocks of W and U and keeps, besides h, three arrays for the backward pass:
// `gates` (nodes, 3, hidden) and `first`, `second`, whose content is defined by the cell.
#pragma once

#include "cuda/product.cuh"

namespace sparsewood {

constexpr int kMostWarps = 16;  // maximum warps of a block that works on one node

// The arrays of a pass. Those of the backward pass are null in the forward pass.
template <class Real>
struct Pass {
    const int64_t *child_offsets, *children, *parents;
    const Real* weights;  // (edges) or null: all are 1
    int64_t hidden, word_nodes;
    const Real* products;  // (word nodes, kGates, hidden)
    Real *gates, *first, *second, *h;
    const Real *on_h, *on_second;  // (nodes, hidden), gradients

    __device__ Real weight(int64_t edge) const {
        return weights == nullptr ? Real(1) : weights[edge];
    }
};

template <class Real>
__device__ Real sigmoid(Real x) {
    return Real(1) / (Real(1) + exp(-x));
}

// Computes the states of node begin + blockIdx.x, whose children are finished.
template <class Cell, class Real>
__device__ void pass_up(const Pass<Real>& pass, const int64_t* row, const Real* inputs,
                        int64_t begin) {
    const int64_t j = begin + blockIdx.x;
    const Real* input = inputs + row[j] * Cell::kGates * pass.hidden;
    for (int64_t d = threadIdx.x; d < pass.hidden; d += blockDim.x)
        Cell::up(pass, input, j, d, true);
}

// The same for kTileRows of the nodes begin..end, and a part of their product with `across`
// (hidden, kGates * hidden).
template <class Cell, class Real>
__device__ void pass_up_product(const Pass<Real>& pass, const int64_t* row, const Real* inputs,
                                const Real* across, Real* products, int64_t begin, int64_t end) {
    const int64_t n = pass.hidden, columns = Cell::kGates * n;
    const int64_t parts = (columns + kTileColumns - 1) / kTileColumns, part = blockIdx.x % parts;
    const int64_t first = begin + blockIdx.x / parts * kTileRows;
    Real *room = reinterpret_cast<Real*>(dynamic_shared()), *states = room + kTileRoom;
    // Every warp comes by every row: some have many edges.
    for (int i = threadIdx.x; i < kTileRows * int(n); i += blockDim.x) {
        const int64_t j = first + i / int(n), d = i % int(n);
        states[i] = j < end ? Cell::up(pass, inputs + row[j] * columns, j, d, part == 0) : Real(0);
    }
    __syncthreads();
    multiply_tile(states, n, across, columns, part * kTileColumns, room,
                  [&](int r, int64_t c, Real sum) {
                      if (first + r < end) products[(first + r) * columns + c] = sum;
                  });
}

// Gathers from the edges above node k, edges[offsets[k] : offsets[k + 1]]: the gradient of its
// product, and, as the result, the gradient of its state that does not go through the product.
template <class Cell, class Real>
__device__ Real gather(const Pass<Real>& pass, const int64_t* offsets, const int64_t* edges,
                     int64_t k, int64_t d, Real* sums) {
    Real state = 0;
    for (int g = 0; g < Cell::kGates; ++g) sums[g] = 0;
    for (int64_t q = offsets[k]; q < offsets[k + 1]; ++q) {
        Real on[Cell::kGates];
        const Real w = pass.weight(edges[q]);
        state += w * Cell::down(pass, edges[q], k, d, on);
        for (int g = 0; g < Cell::kGates; ++g) sums[g] += w * on[g];
    }
    return state;
}

// Computes the gradients of the product and the states of node begin + blockIdx.x, whose parents
// are finished, except for gradients that go through the product.
template <class Cell, class Real>
__device__ void pass_down(const Pass<Real>& pass, const int64_t* offsets, const int64_t* edges,
                          Real* on_h, Real* on_second, Real* on_products, int64_t begin) {
    const int64_t k = begin + blockIdx.x, n = pass.hidden;
    for (int64_t d = threadIdx.x; d < n; d += blockDim.x) {
        Real sums[Cell::kGates];
        const Real state = gather<Cell>(pass, offsets, edges, k, d, sums);
        for (int g = 0; g < Cell::kGates; ++g)
            on_products[(k * Cell::kGates + g) * n + d] = sums[g];
        if (Cell::kCarries)
            on_second[k * n + d] = state;
        else
            on_h[k * n + d] += state;
    }
}

// The same for kTileRows of the nodes begin..end, and a part of the gradients that go through the
// product, with the weight (kGates * hidden, hidden).
template <class Cell, class Real>
__device__ void pass_down_product(const Pass<Real>& pass, const int64_t* offsets,
                                  const int64_t* edges, const Real* weight, Real* on_h,
                                  Real* on_second, Real* on_products, int64_t begin, int64_t end) {
    const int64_t n = pass.hidden, depth = Cell::kGates * n;
    const int64_t parts = (n + kTileColumns - 1) / kTileColumns;
    const int64_t part = blockIdx.x % parts * kTileColumns;
    const int64_t first = begin + blockIdx.x / parts * kTileRows;
    Real* room = reinterpret_cast<Real*>(dynamic_shared());
    Real *states = room + kTileRoom, *rows = states + kTileRows * kTileColumns;
    for (int i = threadIdx.x; i < kTileRows * int(n); i += blockDim.x) {
        const int64_t r = i / int(n), k = first + r, d = i % int(n);
        Real sums[Cell::kGates] = {}, state = 0;
        if (k < end) state = gather<Cell>(pass, offsets, edges, k, d, sums);
        for (int g = 0; g < Cell::kGates; ++g) {
            rows[r * depth + g * n + d] = sums[g];
            if (part == 0 && k < end) on_products[k * depth + g * n + d] = sums[g];
        }
        if (Cell::kCarries) {
            if (part == 0 && k < end) on_second[k * n + d] = state;
        } else if (d >= part && d < part + kTileColumns) {
            states[r * kTileColumns + d - part] = state;
        }
    }
    __syncthreads();
    multiply_tile(rows, depth, weight, n, part, room, [&](int r, int64_t c, Real sum) {
        if (first + r >= end) return;
        if (!Cell::kCarries) sum += states[r * kTileColumns + c - part];
        on_h[(first + r) * n + c] += sum;
    });
}

// The gradient of the input of root nodes: a sum over roots, split among the warps of a block.
template <class Cell, class Real>
__device__ void pass_to_root(const Pass<Real>& pass, Real* on_root, int64_t words, int64_t all) {
    __shared__ Real shares[kMostWarps][32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    const int64_t d = 32 * (blockIdx.x - words) + lane, n = pass.hidden;
    Real sums[Cell::kGates] = {};
    for (int64_t j = pass.word_nodes + warp; j < all && d < n; j += warps) {
        Real on[Cell::kGates];
        Cell::to_input(pass, j, d, on);
        for (int g = 0; g < Cell::kGates; ++g) sums[g] += on[g];
    }
    for (int g = 0; g < Cell::kGates; ++g) {
        shares[warp][lane] = sums[g];
        __syncthreads();
        Real sum = 0;
        for (int w = 0; w < warps; ++w) sum += shares[w][lane];
        if (warp == 0 && d < n) on_root[g * n + d] = sum;
        __syncthreads();
    }
}

// The gradient of the inputs. Block r < words: the sum over the nodes of row r,
// nodes[offsets[r] : offsets[r + 1]]. Further blocks: 32 columns each of the sum over root nodes.
template <class Cell, class Real>
__device__ void pass_to_inputs(const Pass<Real>& pass, const int64_t* offsets, const int64_t* nodes,
                               Real* on_inputs, int64_t words, int64_t all) {
    const int64_t r = blockIdx.x, n = pass.hidden;
    if (r >= words)
        return pass_to_root<Cell>(pass, on_inputs + words * Cell::kGates * n, words, all);
    for (int64_t d = threadIdx.x; d < n; d += blockDim.x) {
        Real sums[Cell::kGates] = {};
        for (int64_t q = offsets[r]; q < offsets[r + 1]; ++q) {
            Real on[Cell::kGates];
            Cell::to_input(pass, nodes[q], d, on);
            for (int g = 0; g < Cell::kGates; ++g) sums[g] += on[g];
        }
        for (int g = 0; g < Cell::kGates; ++g) on_inputs[(r * Cell::kGates + g) * n + d] = sums[g];
    }
}

// The gradient of the weight of edge blockIdx.x, by one warp.
template <class Cell, class Real>
__device__ void pass_to_edges(const Pass<Real>& pass, Real* on_edges) {
    const int64_t e = blockIdx.x, k = pass.children[e], n = pass.hidden;
    const Real* product = pass.products + k * Cell::kGates * n;
    Real sum = 0;
    for (int64_t d = threadIdx.x; d < n; d += 32) {
        Real on[Cell::kGates];
        sum += Cell::down(pass, e, k, d, on) * Cell::state(pass, k)[d];
        for (int g = 0; g < Cell::kGates; ++g) sum += on[g] * product[g * n + d];
    }
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(kAllLanes, sum, d);
    if (threadIdx.x == 0) on_edges[e] = sum;
}

}  // namespace sparsewood

#define SPARSEWOOD_LEVEL_KERNELS(name, Cell, Real)                                                 \
    extern "C" __global__ void name##_up(                                                          \
        const int64_t* child_offsets, const int64_t* children, const Real* weights,                \
        const int64_t* row, const Real* inputs, const Real* products, Real* gates, Real* first,    \
        Real* second, Real* h, int64_t hidden, int64_t begin) {                                    \
        const sparsewood::Pass<Real> pass{                                                         \
            child_offsets, children, nullptr, weights, hidden,  0,      products,                  \
            gates,         first,    second,  h,       nullptr, nullptr};                          \
        sparsewood::pass_up<sparsewood::Cell>(pass, row, inputs, begin);                           \
    }                                                                                              \
    extern "C" __global__ void name##_down(                                                        \
        const int64_t* offsets, const int64_t* edges, const int64_t* parents, const Real* weights, \
        Real* gates, Real* first, Real* second, Real* on_h, Real* on_second, Real* on_products,    \
        int64_t hidden, int64_t word_nodes, int64_t begin) {                                       \
        const sparsewood::Pass<Real> pass{nullptr,    nullptr, parents,  weights, hidden,          \
                                          word_nodes, nullptr, gates,    first,   second,          \
                                          nullptr,    on_h,    on_second};                         \
        sparsewood::pass_down<sparsewood::Cell>(pass, offsets, edges, on_h, on_second,             \
                                                on_products, begin);                               \
    }                                                                                              \
    extern "C" __global__ void name##_up_product(                                                  \
        const int64_t* child_offsets, const int64_t* children, const Real* weights,                \
        const int64_t* row, const Real* inputs, Real* products, Real* gates, Real* first,          \
        Real* second, Real* h, const Real* across, int64_t hidden, int64_t begin, int64_t end) {   \
        const sparsewood::Pass<Real> pass{                                                         \
            child_offsets, children, nullptr, weights, hidden,  0,      products,                  \
            gates,         first,    second,  h,       nullptr, nullptr};                          \
        sparsewood::pass_up_product<sparsewood::Cell>(pass, row, inputs, across, products, begin,  \
                                                      end);                                        \
    }                                                                                              \
    extern "C" __global__ void name##_down_product(                                                \
        const int64_t* offsets, const int64_t* edges, const int64_t* parents, const Real* weights, \
        Real* gates, Real* first, Real* second, Real* on_h, Real* on_second, Real* on_products,    \
        const Real* weight, int64_t hidden, int64_t word_nodes, int64_t begin, int64_t end) {      \
        const sparsewood::Pass<Real> pass{nullptr,    nullptr, parents,  weights, hidden,          \
                                          word_nodes, nullptr, gates,    first,   second,          \
                                          nullptr,    on_h,    on_second};                         \
        sparsewood::pass_down_product<sparsewood::Cell>(pass, offsets, edges, weight, on_h,        \
                                                        on_second, on_products, begin, end);       \
    }                                                                                              \
    extern "C" __global__ void name##_inputs(                                                      \
        const int64_t* offsets, const int64_t* nodes, const int64_t* child_offsets,                \
        const int64_t* children, const Real* weights, Real* gates, Real* first, Real* second,      \
        const Real* on_h, const Real* on_second, Real* on_inputs, int64_t hidden,                  \
        int64_t word_nodes, int64_t words, int64_t all) {                                          \
        const sparsewood::Pass<Real> pass{child_offsets, children, nullptr,  weights, hidden,      \
                                          word_nodes,    nullptr,  gates,    first,   second,      \
                                          nullptr,       on_h,     on_second};                     \
        sparsewood::pass_to_inputs<sparsewood::Cell>(pass, offsets, nodes, on_inputs, words, all); \
    }                                                                                              \
    extern "C" __global__ void name##_edges(                                                       \
        const int64_t* children, const int64_t* parents, const Real* weights,                      \
        const Real* products, Real* gates, Real* first, Real* second, Real* h, const Real* on_h,   \
        const Real* on_second, Real* on_edges, int64_t hidden, int64_t word_nodes) {               \
        const sparsewood::Pass<Real> pass{nullptr,    children, parents,  weights, hidden,         \
                                          word_nodes, products, gates,    first,   second,         \
                                          h,          on_h,     on_second};                        \
        sparsewood::pass_to_edges<sparsewood::Cell>(pass, on_edges);                               \
    }
