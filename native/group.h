// A Group is what runs one instance: a CPU thread, or the lanes of a CUDA warp.
//
// Solver and oracles are templates over it. Work on arrays is written
//     for (int i = g.lane(); i < n; i += g.size()) ...
// scalar state is written by the leader, and g.sync() stands between a write and
// its readers. Reductions return the same value, in the same order of summation,
// to every lane, so that control flow stays uniform and results are reproducible.
#pragma once

#ifdef __CUDACC_RTC__
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;
#else
#include <cmath>
#include <cstdint>
#include <cstring>
#endif

#ifdef __CUDACC__
#define SPARSEWOOD_HD __host__ __device__
#else
#define SPARSEWOOD_HD
#endif

#ifndef SPARSEWOOD_PHASE  // what a benchmark puts here measures the rest of a block
#define SPARSEWOOD_PHASE(name)
#endif

namespace sparsewood {

constexpr double kEpsilon = 2.220446049250313e-16;
#ifdef __CUDACC_RTC__
constexpr double kForbidden = -1.0 / 0.0;
#else
constexpr double kForbidden = -HUGE_VAL;
#endif

// Codes are stored in blocks of this many slots, the last one padded.
constexpr int kCodeBlock = 8;

// Hands out consecutive pieces of one block of memory. With a null base it only
// measures, so that the same code lays a workspace out and tells its size.
struct Arena {
    char* base;
    int64_t used = 0;

    template <class T>
    SPARSEWOOD_HD T* take(int64_t count) {
        T* p = base ? reinterpret_cast<T*>(base + used) : nullptr;
        used += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
        return p;
    }
};

}  // namespace sparsewood

#ifndef __CUDACC_RTC__  // which knows no host code
#include "thread.h"
#endif
#ifdef __CUDACC__
#include "warp.h"
#endif
