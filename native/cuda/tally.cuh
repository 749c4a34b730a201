// Offsets of the results of a batch when they are concatenated.
#pragma once

#include "solver/cholesky.h"

namespace sparsewood {

constexpr int kTallyThreads = 256;

struct Tally {
    int64_t structures, packed, pending;

    __device__ void add(const Tally& other) {
        structures += other.structures, packed += other.packed, pending += other.pending;
    }
};

// The exclusive prefix sum over threads; `all` is the total.
__device__ inline Tally sum_before(Tally own, Tally& all) {
    __shared__ Tally sums[2][kTallyThreads];
    int t = threadIdx.x, from = 0;
    sums[0][t] = own;
    __syncthreads();
    for (int reach = 1; reach < kTallyThreads; reach *= 2, from = 1 - from) {
        Tally sum = sums[from][t];
        if (t >= reach) sum.add(sums[from][t - reach]);
        sums[1 - from][t] = sum;
        __syncthreads();
    }
    all = sums[from][kTallyThreads - 1];
    Tally before{0, 0, 0};
    if (t > 0) before = sums[from][t - 1];
    __syncthreads();
    return before;
}

// One block of kTallyThreads threads: first (batch) and packed (batch) are the offsets of the
// structures and of the factor of each instance, computed from the sizes.
template <class IsPending>
__device__ Tally tally_sizes(const int64_t* sizes, int64_t batch, int64_t* first, int64_t* packed,
                             int64_t* pending, IsPending is_pending) {
    int64_t each = (batch + kTallyThreads - 1) / kTallyThreads, begin = threadIdx.x * each;
    int64_t end = begin + each < batch ? begin + each : batch;
    Tally own{0, 0, 0}, all;
    for (int64_t b = begin; b < end; ++b)
        own.add({sizes[b], Cholesky::packed(sizes[b]), is_pending(b)});
    Tally at = sum_before(own, all);
    for (int64_t b = begin; b < end; ++b) {
        first[b] = at.structures, packed[b] = at.packed;
        if (is_pending(b)) pending[at.pending] = b;
        at.add({sizes[b], Cholesky::packed(sizes[b]), is_pending(b)});
    }
    return all;
}

}  // namespace sparsewood
