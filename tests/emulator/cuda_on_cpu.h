// CUDA C++ for a CPU: every thread of a block is a fiber. Included before the source of a program.
//
// A fiber runs until a barrier; when all that wait for each other have arrived they go on. In which
// order they run in between is set by `emulator_order`: kernels must not depend on it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "fiber.h"

#define SPARSEWOOD_EMULATED
#define __CUDACC__
#define __CUDA_ARCH__ 900
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __align__(n) alignas(n)
#define __launch_bounds__(...)

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};
struct int2 {
    int x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }

inline dim3 threadIdx{0, 0, 0}, blockIdx{0, 0, 0}, blockDim, gridDim;
constexpr int warpSize = 32;

namespace emulator {

enum class Wait { kNothing, kWarp, kBlock, kEnd };

struct Lane {
    Fiber fiber;
    Wait waits = Wait::kEnd;
    unsigned mask = 0;  // of the lanes it waits for in its warp
};

inline std::vector<Lane> lanes;
inline std::vector<uint64_t> slots;  // what each thread shows the others of its warp
inline std::vector<char> shared;
inline Fiber scheduler;
inline int current = 0, order = 0;

[[noreturn]] inline void fail(const char* why) {
    std::fprintf(stderr, "emulator: block %u: %s\n", blockIdx.x, why);
    std::abort();
}

inline void wait(Wait barrier, unsigned mask = ~0u) {
    Lane& lane = lanes[current];
    lane.waits = barrier;
    lane.mask = mask;
    switch_fiber(lane.fiber, scheduler);
}

// Shows a value to the warp and returns that of lane `from`.
template <class T, class From>
T exchange(unsigned mask, T value, From from) {
    static_assert(sizeof(T) <= 8, "a shuffle moves 8 bytes at most");
    int first = current / 32 * 32, self = current - first;
    std::memcpy(&slots[current], &value, sizeof value);
    wait(Wait::kWarp, mask);
    int source = from(self);
    T found = value;
    if (source >= 0 && source < 32 && first + source < static_cast<int>(lanes.size()))
        std::memcpy(&found, &slots[first + source], sizeof found);
    wait(Wait::kWarp, mask);
    return found;
}

// Folds the values of the lanes of the mask, in their order.
template <class T, class U, class Fold>
U fold(unsigned mask, T value, U start, Fold with) {
    int first = current / 32 * 32;
    std::memcpy(&slots[current], &value, sizeof value);
    wait(Wait::kWarp, mask);
    U result = start;
    for (int l = 0; l < 32 && first + l < static_cast<int>(lanes.size()); ++l) {
        if (!(mask >> l & 1) || lanes[first + l].waits == Wait::kEnd) continue;
        T other;
        std::memcpy(&other, &slots[first + l], sizeof other);
        result = with(result, other, l);
    }
    wait(Wait::kWarp, mask);
    return result;
}

// Lets those go on that all arrived at one barrier. False when nobody can.
inline bool release() {
    int count = static_cast<int>(lanes.size());
    bool all = true, any = false;
    for (const Lane& lane : lanes)
        all = all && (lane.waits == Wait::kBlock || lane.waits == Wait::kEnd);
    for (int first = 0; first < count; first += 32) {
        int stop = std::min(count, first + 32);
        for (int i = first; i < stop; ++i) {
            if (lanes[i].waits != Wait::kWarp) continue;
            unsigned mask = lanes[i].mask;
            bool ready = true;
            for (int j = first; j < stop && ready; ++j)
                if (mask >> (j - first) & 1)
                    ready = lanes[j].waits == Wait::kEnd ||
                            (lanes[j].waits == Wait::kWarp && lanes[j].mask == mask);
            if (!ready) continue;
            any = true;
            for (int j = first; j < stop; ++j)
                if (mask >> (j - first) & 1 && lanes[j].waits == Wait::kWarp)
                    lanes[j].waits = Wait::kNothing;
        }
    }
    if (all)
        for (Lane& lane : lanes)
            if (lane.waits == Wait::kBlock) lane.waits = Wait::kNothing, any = true;
    return any;
}

template <class Body>
void run_block(const Body& body, int threads) {
    static std::mt19937 random(0);
    std::vector<int> turn(threads);
    for (int t = 0; t < threads; ++t) turn[t] = order == 1 ? threads - 1 - t : t;
    for (int t = 0; t < threads; ++t) {
        lanes[t].waits = Wait::kNothing;
        lanes[t].fiber.start([&body] {
            body();
            wait(Wait::kEnd);
        });
    }
    for (;;) {
        if (order == 2) std::shuffle(turn.begin(), turn.end(), random);
        for (int t : turn) {
            if (lanes[t].waits != Wait::kNothing) continue;
            current = t;
            threadIdx.x = static_cast<unsigned>(t);
            switch_fiber(scheduler, lanes[t].fiber);
        }
        bool done = true;
        for (const Lane& lane : lanes) done = done && lane.waits == Wait::kEnd;
        if (done) return;
        if (!release()) fail("threads wait at different barriers");
    }
}

template <class... A, size_t... I>
void launch(void (*kernel)(A...), void** values, int64_t grid, int64_t block, int64_t bytes,
            std::index_sequence<I...>) {
    auto body = [&] { kernel(*static_cast<std::remove_const_t<A>*>(values[I])...); };
    lanes.resize(static_cast<size_t>(block));
    slots.assign(static_cast<size_t>(block), 0);
    gridDim.x = static_cast<unsigned>(grid), blockDim.x = static_cast<unsigned>(block);
    for (int64_t b = 0; b < grid; ++b) {
        // What a block finds in its memory is not zero.
        shared.assign(static_cast<size_t>(bytes) + 64, static_cast<char>(0xa5));
        blockIdx.x = static_cast<unsigned>(b);
        run_block(body, static_cast<int>(block));
    }
}

template <class... A>
void launch(void (*kernel)(A...), int given, void** values, int64_t grid, int64_t block,
            int64_t bytes) {
    if (given != static_cast<int>(sizeof...(A))) fail("wrong number of arguments");
    launch(kernel, values, grid, block, bytes, std::index_sequence_for<A...>());
}

}  // namespace emulator

namespace sparsewood {
inline char* dynamic_shared() {
    auto address = reinterpret_cast<uintptr_t>(emulator::shared.data());
    return reinterpret_cast<char*>((address + 15) / 16 * 16);
}
}  // namespace sparsewood

// The first line does not compile unless the kernel is extern "C", as a GPU looks for it.
#define EMULATE(name)                                                                      \
    extern "C" decltype(name) name;                                                        \
    extern "C" void emulate_##name(int order, int given, void** values, int64_t grid,      \
                                   int64_t block, int64_t bytes) {                         \
        emulator::order = order;                                                           \
        emulator::launch(name, given, values, grid, block, bytes);                         \
    }

inline void __syncthreads() { emulator::wait(emulator::Wait::kBlock); }
inline void __syncwarp(unsigned mask = ~0u) { emulator::wait(emulator::Wait::kWarp, mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline unsigned __activemask() { return ~0u; }

template <class T>
T __shfl_sync(unsigned mask, T v, int from, int width = 32) {
    return emulator::exchange(mask, v, [&](int i) { return i / width * width + from % width; });
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int with, int width = 32) {
    return emulator::exchange(mask, v, [&](int i) { return (i ^ with) / width == i / width ? i ^ with : i; });
}
template <class T>
T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32) {
    int d = static_cast<int>(by);
    return emulator::exchange(mask, v, [&](int i) { return i % width >= d ? i - d : i; });
}
template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32) {
    int d = static_cast<int>(by);
    return emulator::exchange(mask, v, [&](int i) { return i % width + d < width ? i + d : i; });
}
inline unsigned __ballot_sync(unsigned mask, int p) {
    return emulator::fold(mask, p, 0u, [](unsigned r, int v, int l) { return r | (v ? 1u << l : 0u); });
}
inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
inline int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, !p) == 0; }
template <class T>
unsigned __match_any_sync(unsigned mask, T v) {
    return emulator::fold(mask, v, 0u, [&](unsigned r, T o, int l) { return r | (o == v ? 1u << l : 0u); });
}
template <class T>
T __reduce_add_sync(unsigned mask, T v) {
    return emulator::fold(mask, v, T{0}, [](T r, T o, int) { return static_cast<T>(r + o); });
}
template <class T>
T __reduce_min_sync(unsigned mask, T v) {
    return emulator::fold(mask, v, v, [](T r, T o, int) { return o < r ? o : r; });
}
template <class T>
T __reduce_max_sync(unsigned mask, T v) {
    return emulator::fold(mask, v, v, [](T r, T o, int) { return o > r ? o : r; });
}
template <class T>
T __reduce_or_sync(unsigned mask, T v) {
    return emulator::fold(mask, v, T{0}, [](T r, T o, int) { return r | o; });
}
template <class T>
T __reduce_and_sync(unsigned mask, T v) {
    return emulator::fold(mask, v, v, [](T r, T o, int) { return r & o; });
}

template <class T>
T atomicAdd(T* p, T v) {
    static_assert(std::is_integral_v<T>, "sums of floating numbers depend on the order");
    T before = *p;
    *p = static_cast<T>(before + v);
    return before;
}
template <class T>
T atomicMin(T* p, T v) {
    T before = *p;
    *p = v < before ? v : before;
    return before;
}
template <class T>
T atomicMax(T* p, T v) {
    T before = *p;
    *p = v > before ? v : before;
    return before;
}
template <class T>
T atomicOr(T* p, T v) {
    T before = *p;
    *p = before | v;
    return before;
}
template <class T>
T atomicExch(T* p, T v) {
    T before = *p;
    *p = v;
    return before;
}
template <class T>
T atomicCAS(T* p, T expected, T v) {
    T before = *p;
    if (before == expected) *p = v;
    return before;
}

template <class T>
T __ldg(const T* p) { return *p; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
template <class To, class From>
To emulator_cast(From x) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &x, sizeof to);
    return to;
}
inline long long __double_as_longlong(double x) { return emulator_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return emulator_cast<double>(x); }
inline int __float_as_int(float x) { return emulator_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return emulator_cast<unsigned>(x); }
inline float __int_as_float(int x) { return emulator_cast<float>(x); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
    return __longlong_as_double(static_cast<long long>(high) << 32 | static_cast<unsigned>(low));
}
inline unsigned __vcmpeq2(unsigned a, unsigned b) {
    unsigned x = a ^ b;
    return (x & 0xffffu ? 0u : 0xffffu) | (x >> 16 ? 0u : 0xffff0000u);
}
inline unsigned __vcmpne2(unsigned a, unsigned b) { return ~__vcmpeq2(a, b); }
inline unsigned __vseteq2(unsigned a, unsigned b) { return __vcmpeq2(a, b) & 0x00010001u; }
inline float __expf(float x) { return std::exp(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline long long clock64() { return 0; }
using std::isinf;
using std::isnan;
using std::max;
using std::min;
