// The MAP oracle of a family on one instance of a padded batch.
#pragma once

#include "cuda/padded.cuh"

namespace sparsewood {

// The oracle's memory, within the share of one instance.
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

// The score of a structure, summed over the caller's array.
template <class Family>
__device__ double total_score(Warp g, const Family& family, Numbers from,
                              const int16_t* code) {
    double s = 0;
    for (int i = g.lane(); i < family.slots; i += g.size()) {
        int64_t part = family.part(i, code[i]);
        if (part >= 0) s += from[part];
    }
    return g.sum(s);
}

}  // namespace sparsewood
