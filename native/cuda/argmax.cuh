// The highest-scoring structure of each instance, one warp per instance. `Chosen` is the family,
// defined before this file is included.
#pragma once

#include "cuda/oracle.cuh"

namespace sparsewood {

template <class Family>
__device__ bool find_best(Warp g, const Padded& given, int64_t b, char* memory, int64_t* event,
                       double* total) {
    Family family;
    if (!given.set_size(family, b)) return false;
    Arena arena{memory, Warp::size()};
    OracleMemory<Family> work(family, arena);
    if (read_scores(g, family, given.instance(b), 1.0, work.table).bad >= 0) return false;
    if (!family(g, work.table, work.code)) return false;
    family.event(g, work.code, event);
    double score = total_score(g, family, given.instance(b), work.code);
    if (g.leader()) *total = score;
    return true;
}

}  // namespace sparsewood

extern "C" {

// The bytes that an instance of full size needs.
__global__ void measure(SPARSEWOOD_PADDED, int64_t* bytes) {
    using namespace sparsewood;
    Padded given{SPARSEWOOD_PADDED_ARGUMENTS};
    Chosen family;
    family.set_size(given.full, given.shape, given.options);
    Arena arena{nullptr, Warp::size()};
    OracleMemory<Chosen> work(family, arena);
    *bytes = arena.used;
}

// events: (batch, event); totals: (batch) their scores; failed: set if an instance has none.
__global__ void argmax(SPARSEWOOD_PADDED, char* memory, int64_t share, int64_t event,
                       int64_t* events, double* totals, int64_t* failed) {
    using namespace sparsewood;
    Padded given{SPARSEWOOD_PADDED_ARGUMENTS};
    int64_t b = blockIdx.x;
    char* own = memory + b * share;
    if (!find_best<Chosen>(Warp{}, given, b, own, events + b * event, totals + b)) *failed = 1;
}

}  // extern "C"
