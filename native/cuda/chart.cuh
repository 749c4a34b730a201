// Sums over a chart, their derivatives and samples: one warp to an instance. `Chosen` is the family,
// which the source says before it includes this.
#pragma once

#include "sums/chart.h"

namespace sparsewood {

// A batch of scores (B, *shape) and the working memory, `share` bytes to an instance.
struct ChartBatch {
    const double* scores;
    const int64_t* sizes;  // (B, dims)
    int64_t dims;
    int64_t shape[3];
    char* memory;
    int64_t share;
    int64_t first;  // the instance of the first warp

    __device__ int64_t instance() const { return first + blockIdx.x; }
    __device__ int64_t each() const { return shape[0] * shape[1] * shape[2]; }
    __device__ const double* own() const { return scores + instance() * each(); }

    __device__ Chart<Chosen> begin(bool with_rates, Arena& arena) const {
        Chart<Chosen> chart;
        chart.family.set_size(sizes + instance() * dims, shape);
        chart.lay_out(arena, with_rates);
        return chart;
    }
};

#define SPARSEWOOD_CHART                                                                       \
    const double *scores, const int64_t *sizes, int64_t dims, int64_t shape0, int64_t shape1, \
        int64_t shape2, char *memory, int64_t share, int64_t first
#define SPARSEWOOD_CHART_ARGUMENTS                                                 \
    {                                                                              \
        scores, sizes, dims, {shape0, shape1, shape2}, memory, share, first        \
    }

}  // namespace sparsewood

extern "C" {

// The logarithms of the sums (B,) and the marginals, shaped as the scores and 0 before.
__global__ void chart_sums(SPARSEWOOD_CHART, double* log_sums, double* marginals) {
    using namespace sparsewood;
    ChartBatch batch SPARSEWOOD_CHART_ARGUMENTS;
    Warp g;
    Arena arena{memory + blockIdx.x * share, Warp::size()};
    Chart<Chosen> chart = batch.begin(false, arena);
    double total = chart.sum(g, batch.own());
    if (g.leader()) log_sums[batch.instance()] = total;
    chart.marginals(g, marginals + batch.instance() * batch.each());
}

// The derivative of the marginals along `direction`, both shaped as the scores.
__global__ void chart_hessian(SPARSEWOOD_CHART, const double* direction, double* product) {
    using namespace sparsewood;
    ChartBatch batch SPARSEWOOD_CHART_ARGUMENTS;
    Warp g;
    Arena arena{memory + blockIdx.x * share, Warp::size()};
    Chart<Chosen> chart = batch.begin(true, arena);
    int64_t at = batch.instance() * batch.each();
    chart.sum(g, batch.own());
    chart.hessian(g, direction + at, product + at);
}

// Structures as ones in `samples` (count, total, *shape), 0 before, drawn from `seeds` (count,
// total); so many lanes draw at a time.
__global__ void chart_samples(SPARSEWOOD_CHART, int64_t lanes, int64_t count, int64_t total,
                              const int64_t* seeds, double* samples) {
    using namespace sparsewood;
    ChartBatch batch SPARSEWOOD_CHART_ARGUMENTS;
    Warp g;
    Arena arena{memory + blockIdx.x * share, Warp::size()};
    Chart<Chosen> chart = batch.begin(false, arena);
    uint8_t* used = arena.take<uint8_t>(lanes * chart.family.cells);
    chart.sum(g, batch.own());
    g.sync();
    if (g.lane() >= lanes) return;
    for (int64_t s = g.lane(); s < count; s += lanes) {
        int64_t at = s * total + batch.instance();
        chart.sample(static_cast<uint64_t>(seeds[at]),
                     used + g.lane() * chart.family.cells, samples + at * batch.each());
    }
}

}  // extern "C"
