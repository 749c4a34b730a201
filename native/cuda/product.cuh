// A matrix product of few rows by one block, for levels that are too small for a separate launch.
#pragma once

#include "cuda/scan.cuh"

namespace sparsewood {

constexpr int kTileRows = 8, kTileColumns = 128, kTileWarps = kTileRows;

// Numbers of shared memory for the sums of the warps, two rows at a time.
constexpr int64_t kTileRoom = 2 * kTileWarps * kTileColumns;

// Calls write(r, c, sum over k of rows[r, k] matrix[k, c]) for kTileRows rows (., depth) in shared
// memory and the columns c in begin + [0, kTileColumns) of the matrix (depth, columns). For a block
// of kTileWarps warps, which split k; the order of summation depends only on depth.
template <class Real, class Write>
__device__ void multiply_tile(const Real* rows, int64_t depth, const Real* matrix, int64_t columns,
                              int64_t begin, Real* room, const Write& write) {
    constexpr int kEach = kTileColumns / 32;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Real sums[kTileRows][kEach] = {};
    int64_t at[kEach];
    for (int c = 0; c < kEach; ++c) {
        const int64_t column = begin + 32 * c + lane;
        at[c] = column < columns ? column : begin;
    }
#pragma unroll 4
    for (int k = warp; k < int(depth); k += kTileWarps) {
        Real value[kEach];
#pragma unroll
        for (int c = 0; c < kEach; ++c) value[c] = matrix[k * columns + at[c]];
#pragma unroll
        for (int r = 0; r < kTileRows; ++r) {
            const Real factor = rows[r * int(depth) + k];
#pragma unroll
            for (int c = 0; c < kEach; ++c) sums[r][c] += factor * value[c];
        }
    }
#pragma unroll
    for (int first = 0; first < kTileRows; first += 2) {
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 2; ++r)
#pragma unroll
            for (int c = 0; c < kEach; ++c)
                room[(2 * warp + r) * kTileColumns + 32 * c + lane] = sums[first + r][c];
        __syncthreads();
        const int r = threadIdx.x / kTileColumns, c = threadIdx.x % kTileColumns;
        Real sum = 0;
        for (int w = 0; w < kTileWarps; ++w) sum += room[(2 * w + r) * kTileColumns + c];
        if (begin + c < columns) write(first + r, begin + c, sum);
    }
}

}  // namespace sparsewood
