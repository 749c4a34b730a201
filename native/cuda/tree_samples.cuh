// Samples of the spanning trees of a sentence, one warp for each, one lane for a sample.
#pragma once

#include "sums/tree_samples.h"

// Heads (count, total, n) drawn from `seeds` (count, total), by so many lanes at a time, and `good`
// (count, total), 0 where they could not be drawn.
extern "C" __global__ void tree_samples(const double* scores, const int64_t* lengths, int64_t n,
                                        int64_t single_root, char* memory,
                                        int64_t share, int64_t first, int64_t lanes, int64_t count,
                                        int64_t total, const int64_t* seeds, int64_t* heads,
                                        int64_t* good) {
    using namespace sparsewood;
    int64_t b = first + blockIdx.x;
    int words = static_cast<int>(lengths[b]);
    Warp g;
    Arena arena{memory + blockIdx.x * share, Warp::size()};
    TreeSamples samples;
    samples.lay_out(arena, words);
    for (int lane = 0; lane <= g.lane() && lane < lanes; ++lane)
        samples.lay_out_sample(arena, words);
    samples.read(g, scores + b * n * (n + 1), n + 1, single_root != 0);
    if (g.lane() >= lanes) return;
    for (int64_t s = g.lane(); s < count; s += lanes) {
        int64_t at = s * total + b;
        Uniform uniform{static_cast<uint64_t>(seeds[at])};
        good[at] = samples.draw(uniform, heads + at * n);
    }
}
