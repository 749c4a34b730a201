// Arrays of either precision.
#pragma once

#include "group/group.h"

namespace sparsewood {

// An array of the caller: float64, or float32 if `narrow`. If null, all numbers are 0.
struct Numbers {
    const void* data;
    int64_t narrow;

    __device__ double operator[](int64_t i) const {
        if (!data) return 0;
        return narrow ? static_cast<const float*>(data)[i] : static_cast<const double*>(data)[i];
    }
    __device__ Numbers from(int64_t i) const {
        return {data ? static_cast<const char*>(data) + i * (narrow ? 4 : 8) : nullptr, narrow};
    }
};

}  // namespace sparsewood
