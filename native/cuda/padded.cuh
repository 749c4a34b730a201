// A padded batch of scores on the device, in the layout of the caller's arrays.
//
// Kernels declare it as SPARSEWOOD_PADDED among their parameters and construct a `Padded` from
// SPARSEWOOD_PADDED_ARGUMENTS. Kernels only report that an instance is invalid; the CPU finds the
// reason (batch.h).
#pragma once

#include "cuda/numbers.cuh"
#include "solver/instance.h"

namespace sparsewood {

struct Padded {
    Numbers scores;        // (batch, *shape)
    const int64_t* sizes;  // (batch, dims); null: all instances have full size
    int64_t dims;
    int64_t shape[3];    // of one instance; 1 for missing dimensions
    int64_t full[2];     // the size of an instance that fills its array
    int64_t options[3];  // of the family

    __device__ int64_t parts() const { return shape[0] * shape[1] * shape[2]; }
    __device__ Numbers instance(int64_t b) const { return scores.from(b * parts()); }

    // Sets a family to the size of instance b; false if it is out of range.
    template <class Family>
    __device__ bool set_size(Family& family, int64_t b) const {
        int64_t size[2] = {full[0], full[1]};
        for (int64_t d = 0; sizes && d < dims; ++d) {
            size[d] = sizes[b * dims + d];
            if (size[d] < 1 || size[d] > full[d]) return false;
        }
        family.set_size(size, shape, options);
        return true;
    }
};

#define SPARSEWOOD_PADDED                                                                     \
    const void *scores, int64_t narrow, const int64_t *sizes, int64_t dims, int64_t shape0,   \
        int64_t shape1, int64_t shape2, int64_t full0, int64_t full1, int64_t option0,        \
        int64_t option1, int64_t option2
#define SPARSEWOOD_PADDED_ARGUMENTS                                                         \
    {scores, narrow}, sizes, dims, {shape0, shape1, shape2}, {full0, full1}, {              \
        option0, option1, option2                                                           \
    }

}  // namespace sparsewood
