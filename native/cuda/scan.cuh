// Prefix sums of integers over a warp and over a block.
#pragma once

#include "cuda/block.cuh"

namespace sparsewood {

using Word = unsigned long long;  // a type with atomic operations
constexpr unsigned kAllLanes = 0xffffffffu;

// The inclusive prefix sum of the lanes' values.
inline __device__ Word scan_warp(Word value) {
    const int lane = threadIdx.x & 31;
    for (int d = 1; d < 32; d <<= 1) {
        const Word before = __shfl_up_sync(kAllLanes, value, d);
        if (lane >= d) value += before;
    }
    return value;
}

// Replaces the values by their exclusive prefix sums; returns the total. For a whole block of full
// warps.
inline __device__ Word scan_block(Word* values, int64_t count) {
    __shared__ Word sums[32];  // of the warps
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    Word total = 0;
    for (int64_t base = 0; base < count; base += blockDim.x) {
        const int64_t i = base + threadIdx.x;
        const Word own = i < count ? values[i] : 0, sum = scan_warp(own);
        if (lane == 31) sums[warp] = sum;
        __syncthreads();
        Word before = total;
        for (int w = 0; w < warps; ++w) {
            if (w < warp) before += sums[w];
            total += sums[w];
        }
        if (i < count) values[i] = before + sum - own;
        __syncthreads();
    }
    return total;
}

// Stable counting sort of the numbers below `count` by their key, which is below `buckets`: those
// with key k are order[offsets[k] : offsets[k + 1]]. For a whole block; the scratch memory holds
// buckets + 1 + count.
inline __device__ void sort_by_key(const int64_t* keys, int64_t count, int64_t buckets,
                                   int64_t* offsets, int64_t* order, int64_t* room) {
    Word* next = reinterpret_cast<Word*>(room);
    int64_t* placed = room + buckets + 1;
    for (int64_t k = threadIdx.x; k <= buckets; k += blockDim.x) next[k] = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) atomicAdd(next + keys[i], Word(1));
    __syncthreads();
    scan_block(next, buckets + 1);
    for (int64_t k = threadIdx.x; k <= buckets; k += blockDim.x)
        offsets[k] = static_cast<int64_t>(next[k]);
    __syncthreads();
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
        placed[atomicAdd(next + keys[i], Word(1))] = i;
    __syncthreads();
    // Threads arrived in any order; the rank of a number is how many with its key are smaller.
    for (int64_t p = threadIdx.x; p < count; p += blockDim.x) {
        const int64_t i = placed[p], begin = offsets[keys[i]], end = offsets[keys[i] + 1];
        int64_t at = begin;
        for (int64_t q = begin; q < end; ++q) at += placed[q] < i;
        order[at] = i;
    }
}

}  // namespace sparsewood
