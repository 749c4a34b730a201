// A CUDA warp as a Group: see group.h, which includes this.
#pragma once

namespace sparsewood {

// One lane of a warp as a Group of its own.
struct Lane {
    static constexpr int kLanes = 1;
    static constexpr bool kLists = false;
    static __device__ constexpr int lane() { return 0; }
    static __device__ constexpr int size() { return 1; }
    static __device__ constexpr bool leader() { return true; }
    static __device__ void sync() {}
    static __device__ double sum(double x) { return x; }

    static __device__ int argmax(const double* a, int n) {
        double best = kForbidden;
        int at = -1;
#pragma unroll 4
        for (int i = 0; i < n; ++i)
            if (a[i] > best) best = a[i], at = i;
        return at;
    }
    static __device__ int argmax(double x, int at) { return x == kForbidden ? -1 : at; }
    static __device__ void largest(int&, int&) {}

    template <bool NonZero>
    static __device__ int agree(const int16_t* a, const int16_t* b, int n) {
        int count = 0;
#pragma unroll 2
        for (int i = 0; i < n; i += kCodeBlock) {
            CodeBlock x = CodeBlock::load(a + i), y = CodeBlock::load(b + i);
            for (int w = 0; w < kCodeBlock / 2; ++w) {
                unsigned other = not_zero(x.pairs[w] ^ y.pairs[w]);
                count += NonZero ? __popc(not_zero(x.pairs[w]) & ~other) : -__popc(other);
            }
        }
        return NonZero ? count : n + count;
    }
};

// The 32 lanes of a CUDA warp.
struct Warp {
    using Lane = sparsewood::Lane;
    static constexpr int kLanes = 32;
    static constexpr bool kLists = false;
    static constexpr int kTogether = 2, kColumns = 4;
    static constexpr unsigned kAll = 0xffffffffu;
    static __device__ int lane() { return threadIdx.x & 31; }
    static __device__ constexpr int size() { return 32; }
    static __device__ bool leader() { return lane() == 0; }
    static __device__ void sync() { __syncwarp(); }
    static __device__ void poll() {}

    static __device__ double sum(double x) {
        for (int d = 16; d > 0; d >>= 1) x += __shfl_xor_sync(kAll, x, d);
        return x;
    }

    static __device__ double max(double x) {
        for (int d = 16; d > 0; d >>= 1) {
            double other = __shfl_xor_sync(kAll, x, d);
            x = other > x ? other : x;
        }
        return x;
    }

    static __device__ double inverse_root(double x) { return rsqrt(x); }
    static __device__ uint32_t ballot(bool x) { return __ballot_sync(kAll, x); }
    static __device__ bool any(bool x) { return __any_sync(kAll, x); }

    static __device__ void largest(int& value, int& at) {
        int top = static_cast<int>(reduce_max(static_cast<unsigned>(value + 1))) - 1;
        at = static_cast<int>(reduce_min(value == top ? static_cast<unsigned>(at) : kAll));
        value = top;
    }

    static __device__ void smallest(double& value, int& at) {
        for (int d = 16; d > 0; d >>= 1) {
            double other = __shfl_xor_sync(kAll, value, d);
            int where = __shfl_xor_sync(kAll, at, d);
            if (other < value || (other == value && static_cast<unsigned>(where) <
                                                        static_cast<unsigned>(at)))
                value = other, at = where;
        }
    }

    template <class Holds>
    static __device__ int last(int n, Holds holds) {
#pragma unroll 1
        for (int stop = n; stop > 0; stop -= 32) {
            int a = stop - 32 + lane();
            uint32_t found = ballot(a >= 0 && holds(a));
            if (found) return stop - 1 - __clz(static_cast<int>(found));
        }
        return -1;
    }

    template <int Count>
    static __device__ void products(const double* const (&a)[Count],
                                    const double* const (&b)[Count], int n, double (&out)[Count]) {
#pragma unroll 1
        for (int i = lane(); i < n; i += 32)
            for (int v = 0; v < Count; ++v) out[v] += a[v][i] * b[v][i];
        sum(out);
    }
    template <int Count>
    static __device__ void sum(double (&x)[Count]) {
        for (int d = 16; d > 0; d >>= 1)
            for (int v = 0; v < Count; ++v) x[v] += __shfl_xor_sync(kAll, x[v], d);
    }

    // The value of another lane.
    template <class T>
    static __device__ T shuffle(T x, int from) {
        return __shfl_sync(kAll, x, from);
    }

    // The bitwise or over all lanes.
    static __device__ uint32_t bits(uint32_t x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
        for (int d = 16; d > 0; d >>= 1) x |= __shfl_xor_sync(kAll, x, d);
        return x;
#else
        return __reduce_or_sync(kAll, x);
#endif
    }

    // The sum of integers.
    static __device__ int total(int x) {
        for (int d = 16; d > 0; d >>= 1) x += __shfl_xor_sync(kAll, x, d);
        return x;
    }

    // The maximum of integers.
    static __device__ int largest(int x) {
        const unsigned sign = 0x80000000u;
        return static_cast<int>(reduce_max(static_cast<unsigned>(x) ^ sign) ^ sign);
    }

    static __device__ double dot(const double* a, const double* b, int n) {
        double s = 0;
        for (int i = lane(); i < n; i += 32) s += a[i] * b[i];
        return sum(s);
    }

    static __device__ int argmax(const double* a, int n) {
        double best = kForbidden;
        int at = -1;
        for (int i = lane(); i < n; i += 32)
            if (a[i] > best) best = a[i], at = i;
        return argmax(best, at);
    }

    // The minimum `at` of the lanes with the maximum, -1 if all are forbidden.
    static __device__ int argmax(double x, int at) {
        // As integers that are ordered like the numbers; 0 turns -0 into 0.
        uint64_t bits = __double_as_longlong(x + 0.0);
        bits = bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
        unsigned high = static_cast<unsigned>(bits >> 32), top = reduce_max(high);
        if (top == 0x000fffffu) return -1;
        unsigned low = high == top ? static_cast<unsigned>(bits) : 0;
        bool mine = reduce_max(low) == low && high == top;
        return static_cast<int>(reduce_min(mine ? static_cast<unsigned>(at) : kAll));
    }

    static __device__ void max_plus(const double* x, const double* rows, const double* plus, int m,
                                    int n, double* out) {
        for (int k = lane(); k < n; k += 32) {
            double best = kForbidden;
            for (int j = 0; j < m; ++j) {
                double s = x[j] + rows[int64_t(j) * n + k];
                best = s > best ? s : best;
            }
            out[k] = plus[k] + best;
        }
        sync();
    }

  private:
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    static __device__ unsigned reduce_max(unsigned x) {
        for (int d = 16; d > 0; d >>= 1) {
            unsigned other = __shfl_xor_sync(kAll, x, d);
            x = other > x ? other : x;
        }
        return x;
    }
    static __device__ unsigned reduce_min(unsigned x) { return ~reduce_max(~x); }
#else
    static __device__ unsigned reduce_max(unsigned x) { return __reduce_max_sync(kAll, x); }
    static __device__ unsigned reduce_min(unsigned x) { return __reduce_min_sync(kAll, x); }
#endif
};

}  // namespace sparsewood
