// The highest-scoring structure of each instance: one warp to an instance. `Chosen` is the family
// (registry.h), whose file is included before this one.
#pragma once

#include "cuda/padded.cuh"

namespace sparsewood {

// What the oracle works in, in the share of one instance.
template <class Family>
struct OracleMemory {
    double* table;  // (cells)
    int16_t* code;  // (slots)

    __device__ OracleMemory(Family& family, Arena& arena) {
        family.lay_out(arena);
        table = arena.take<double>(cells(family));
        code = arena.take<int16_t>(family.slots);
    }
};

// The sum of the scores that a structure has in the caller's array.
template <class Family>
__device__ double total_score(Warp g, const Family& family, const double* from,
                              const int16_t* code) {
    double s = 0;
    for (int i = g.lane(); i < family.slots; i += g.size()) {
        int64_t part = family.part(i, code[i]);
        if (part >= 0) s += from[part];
    }
    return g.sum(s);
}

template <class Family>
__device__ bool find_best(Warp g, const Padded& given, int64_t b, char* memory, int64_t* event,
                       double* total) {
    Family family;
    if (!given.set_size(family, b)) return false;
    Arena arena{memory};
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
    Arena arena{nullptr};
    OracleMemory<Chosen> work(family, arena);
    *bytes = arena.used;
}

// events: (batch, event); totals: (batch) their scores; failed: set where an instance has none.
__global__ void argmax(SPARSEWOOD_PADDED, char* memory, int64_t share, int64_t event,
                       int64_t* events, double* totals, int64_t* failed) {
    using namespace sparsewood;
    Padded given{SPARSEWOOD_PADDED_ARGUMENTS};
    int64_t b = blockIdx.x;
    if (!find_best<Chosen>(Warp{}, given, b, memory + b * share, events + b * event, totals + b))
        *failed = 1;
}

}  // extern "C"
