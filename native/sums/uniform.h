// Random numbers from a seed.
#pragma once

#include "group/group.h"

namespace sparsewood {

// A stream of uniform numbers (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number
// generators").
struct Uniform {
    uint64_t state;

    SPARSEWOOD_HD double operator()() {
        uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53;
    }
};

}  // namespace sparsewood
