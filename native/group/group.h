// A Group runs one instance: a CPU thread, or the lanes of a CUDA warp.
//
// Solver and oracles are templates over it. Loops over arrays are written
//     for (int i = g.lane(); i < n; i += g.size()) ...
// scalar state is written by the leader, and g.sync() separates a write from its
// readers. Reductions return the same value, in the same order of summation,
// to every lane, so that control flow is uniform and results are reproducible.
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

#if defined(__SSE2__) && !defined(__CUDACC__)
#include <emmintrin.h>
#define SPARSEWOOD_SSE2
#endif

#ifdef __CUDACC__
#define SPARSEWOOD_HD __host__ __device__
#else
#define SPARSEWOOD_HD
#endif

// For the small instruction cache of a GPU: ONCE for functions called in several places, ROLLED for
// loops of few iterations, UNROLLED for loops whose loads should overlap.
#ifdef __CUDACC__
#define SPARSEWOOD_ONCE __noinline__
#define SPARSEWOOD_ROLLED _Pragma("unroll 1")
#define SPARSEWOOD_UNROLLED _Pragma("unroll 8")
#else
#define SPARSEWOOD_ONCE
#define SPARSEWOOD_ROLLED
#define SPARSEWOOD_UNROLLED
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

// kCodeBlock options of a code, two per word.
struct alignas(2 * kCodeBlock) CodeBlock {
    uint32_t pairs[kCodeBlock / 2];

    static SPARSEWOOD_HD CodeBlock load(const int16_t* code) {
#if defined(__CUDA_ARCH__)
        return *reinterpret_cast<const CodeBlock*>(code);
#else
        CodeBlock block;
        std::memcpy(&block, code, sizeof block);
        return block;
#endif
    }
};

// n: a multiple of kCodeBlock.
SPARSEWOOD_HD inline void copy_code(const int16_t* from, int n, int16_t* to) {
#if defined(__CUDA_ARCH__)
    for (int i = 0; i < n; i += kCodeBlock)
        *reinterpret_cast<CodeBlock*>(to + i) = CodeBlock::load(from + i);
#else
    for (int i = 0; i < n; ++i) to[i] = from[i];
#endif
}

SPARSEWOOD_HD inline int lowest_bit(uint32_t mask) {
#if defined(__CUDA_ARCH__)
    return __ffs(static_cast<int>(mask)) - 1;
#elif defined(__GNUC__)
    return __builtin_ctz(mask);
#else
    int bit = 0;
    while (!(mask >> bit & 1)) ++bit;
    return bit;
#endif
}

// The lowest bit of each half of a pair that is not 0.
SPARSEWOOD_HD inline uint32_t not_zero(uint32_t pair) {
    return (((pair & 0x7fff7fffu) + 0x7fff7fffu) | pair) & 0x80008000u;
}

// A bit for each slot of a block in which two codes differ.
SPARSEWOOD_HD inline uint32_t differences(const int16_t* a, const int16_t* b) {
#ifdef SPARSEWOOD_SSE2
    __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
    __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
    __m128i same = _mm_packs_epi16(_mm_cmpeq_epi16(x, y), _mm_setzero_si128());
    return ~static_cast<uint32_t>(_mm_movemask_epi8(same)) & 0xffu;
#else
    CodeBlock x = CodeBlock::load(a), y = CodeBlock::load(b);
    uint32_t found = 0;
    for (int w = 0; w < kCodeBlock / 2; ++w) {
        uint32_t other = not_zero(x.pairs[w] ^ y.pairs[w]);
        found |= (other >> 15 & 1u) << 2 * w | (other >> 31) << (2 * w + 1);
    }
    return found;
#endif
}

// Calls f(i, a[i], b[i]) for the slots i < n, in order, in which two codes differ. Codes are whole
// blocks; f may change a[i].
template <class F>
SPARSEWOOD_HD void where_differ(const int16_t* a, const int16_t* b, int n, F f) {
    SPARSEWOOD_ROLLED
    for (int start = 0; start < n; start += 32) {
        uint32_t found = 0;
        for (int i = 0; i < 32 && start + i < n; i += kCodeBlock)
            found |= differences(a + start + i, b + start + i) << i;
        SPARSEWOOD_ROLLED
        for (; found != 0; found &= found - 1) {
            int i = start + lowest_bit(found);
            f(i, a[i], b[i]);
        }
    }
}

// Calls f(i) for the slots i < n, in order, that are filled in either of two codes. n is a multiple
// of kCodeBlock; f may change both codes at i.
template <class F>
SPARSEWOOD_HD void where_filled(const int16_t* a, const int16_t* b, int n, F f) {
    for (int start = 0; start < n; start += kCodeBlock) {
        CodeBlock x = CodeBlock::load(a + start), y = CodeBlock::load(b + start);
        for (int w = 0; w < kCodeBlock / 2; ++w) {
            if ((x.pairs[w] | y.pairs[w]) == 0) continue;
            for (int i = start + 2 * w; i < start + 2 * w + 2; ++i)
                if (a[i] != 0 || b[i] != 0) f(i);
        }
    }
}

// Allocates consecutive pieces of one block of memory. With a null base it only
// measures, so that the same code lays out a workspace and computes its size.
struct Arena {
    char* base;
    int lanes = 1;  // of the Group that will use the memory
    int64_t used = 0;

    template <class T>
    SPARSEWOOD_HD T* take(int64_t count) {
        T* p = base ? reinterpret_cast<T*>(base + used) : nullptr;
        used += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
        return p;
    }
};

}  // namespace sparsewood

#ifndef __CUDACC_RTC__  // NVRTC compiles no host code
#include "group/thread.h"
#endif
#ifdef __CUDACC__
#include "group/warp.h"
#endif
