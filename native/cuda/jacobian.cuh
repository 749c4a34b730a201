// The Jacobian of SparseMAP (jacobian.h) for a batch of posteriors, one warp per instance.
#pragma once

#include "cuda/numbers.cuh"
#include "cuda/tally.cuh"
#include "solver/jacobian.h"

extern "C" {

// first, packed: (batch) offsets of the structures and of the factor of each instance.
__global__ void offsets(const int64_t* sizes, int64_t batch, int64_t* first, int64_t* packed) {
    sparsewood::tally_sizes(sizes, batch, first, packed, nullptr, [](int64_t) { return false; });
}

// parts: (total, width); factor: (entries). Instances that exceed them are left NaN.
// on_weights: (total) and on_parts: (batch, cells), either may be null, which is 0. on_scores:
// null, or (batch, cells) for out_parts divided by temperature: (batch), `step` apart.
__global__ void jacobian(const int64_t* parts, int64_t total, int64_t width, const int64_t* sizes,
                         const int64_t* first, const int64_t* packed, const double* factor,
                         int64_t entries, const void* on_weights, int64_t narrow_weights,
                         const void* on_parts, int64_t narrow_parts, int64_t cells,
                         double* out_weights, double* out_parts, double* ones, void* on_scores,
                         int64_t narrow_scores, const double* temperature, int64_t step) {
    using namespace sparsewood;
    Warp g;
    Numbers weights{on_weights, narrow_weights}, given{on_parts, narrow_parts};
    int64_t b = blockIdx.x, begin = first[b], size = sizes[b];
    bool fits =
        size >= 0 && begin + size <= total && packed[b] + Cholesky::packed(size) <= entries;
    double* out = out_parts + b * cells;
    for (int64_t c = g.lane(); c < cells; c += g.size())
        out[c] = fits ? 0 : kForbidden - kForbidden;
    g.sync();
    if (fits)
        apply_jacobian(g, parts + begin * width, static_cast<int>(size), width, factor + packed[b],
                       weights.from(begin), given.from(b * cells), out_weights + begin, out,
                       ones + begin);
    for (int64_t c = g.lane(); on_scores && c < cells; c += g.size()) {
        double s = out[c] / temperature[b * step];
        if (narrow_scores)
            static_cast<float*>(on_scores)[b * cells + c] = static_cast<float>(s);
        else
            static_cast<double*>(on_scores)[b * cells + c] = s;
    }
}

}  // extern "C"
