// The fixed integer per part that defines canonical weights.
//
// It depends only on the index of the part in an instance of the caller's array, not on scores,
// padding, device or machine. src/sparsewood/inference/_preferences.py computes the same.
#pragma once

#include <cstdint>

#include "families/family.h"

namespace sparsewood {

// The finaliser of splitmix64 (Steele, Lea & Flood 2014).
inline uint64_t mix_bits(uint64_t z) {
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// The integer of the part at a flat index of an array of `dims` dimensions: 30 bits, so that sums
// over the parts of a structure are exact.
inline double preference(int64_t part, const int64_t* shape, size_t dims) {
    uint64_t h = 0x9E3779B97F4A7C15u;
    int64_t inner = 1;
    for (size_t d = 1; d < dims; ++d) inner *= shape[d];
    for (size_t d = 0; d < dims; ++d) {
        h = mix_bits(h ^ static_cast<uint64_t>(part / inner + 1));
        part %= inner;
        if (d + 1 < dims) inner /= shape[d + 1];
    }
    return static_cast<double>(h >> 34);
}

}  // namespace sparsewood
