// The Jacobian of SparseMAP (jacobian.h) for a batch of posteriors: one warp to an instance.
#pragma once

#include "cuda/tally.cuh"
#include "jacobian.h"

extern "C" {

// first, packed: (batch) where the structures and the factor of an instance begin.
__global__ void offsets(const int64_t* sizes, int64_t batch, int64_t* first, int64_t* packed) {
    sparsewood::tally_sizes(sizes, batch, first, packed, nullptr, [](int64_t) { return false; });
}

// parts: (total, width); factor: (entries). An instance that reaches beyond them is left NaN.
__global__ void jacobian(const int64_t* parts, int64_t total, int64_t width, const int64_t* sizes,
                         const int64_t* first, const int64_t* packed, const double* factor,
                         int64_t entries, const double* on_weights, const double* on_parts,
                         int64_t cells, double* out_weights, double* out_parts, double* ones) {
    using namespace sparsewood;
    Warp g;
    int64_t b = blockIdx.x, begin = first[b], size = sizes[b];
    bool fits = size >= 0 && begin + size <= total &&
                packed[b] + Cholesky::packed(size) <= entries;
    double* out = out_parts + b * cells;
    for (int64_t c = g.lane(); c < cells; c += g.size())
        out[c] = fits ? 0 : kForbidden - kForbidden;
    g.sync();
    if (!fits) return;
    apply_jacobian(g, parts + begin * width, static_cast<int>(size), width, factor + packed[b],
                   on_weights + begin, on_parts + b * cells, out_weights + begin, out,
                   ones + begin);
}

}  // extern "C"
