// A CUDA warp as a Group: see group.h, which includes this.
#pragma once

namespace sparsewood {

// The 32 lanes of a CUDA warp.
struct Warp {
    static constexpr int rows = 1;
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

    // The sum of whole numbers.
    static __device__ int total(int x) {
        for (int d = 16; d > 0; d >>= 1) x += __shfl_xor_sync(kAll, x, d);
        return x;
    }

    static __device__ int largest(int x) {
#if __CUDA_ARCH__ >= 800
        return __reduce_max_sync(kAll, x);
#else
        for (int d = 16; d > 0; d >>= 1) {
            int other = __shfl_xor_sync(kAll, x, d);
            x = other > x ? other : x;
        }
        return x;
#endif
    }

    // How many lanes before this one have it; `count`: how many of all.
    static __device__ int rank(bool has, int& count) {
        unsigned which = __ballot_sync(kAll, has);
        count = __popc(which);
        return __popc(which & ((1u << lane()) - 1));
    }

    // The index that comes with the largest value, the lowest of those; -1 when all are forbidden.
    static __device__ int best(double value, int index) {
        // Whole numbers in the order of the values; adding 0 makes the two zeros one.
        long long bits = __double_as_longlong(value + 0.0);
        unsigned long long key = bits < 0 ? ~static_cast<unsigned long long>(bits)
                                          : static_cast<unsigned long long>(bits) | 1ull << 63;
        unsigned high = static_cast<unsigned>(key >> 32), low = static_cast<unsigned>(key);
        unsigned top = largest_unsigned(high);
        unsigned rest = largest_unsigned(high == top ? low : 0u);
        bool is_best = high == top && low == rest && value != kForbidden;
        int found = -largest(is_best ? -index : -0x7fffffff);
        return found == 0x7fffffff ? -1 : found;
    }

    static __device__ double dot(const double* a, const double* b, int n) {
        double s = 0;
        for (int i = lane(); i < n; i += 32) s += a[i] * b[i];
        return sum(s);
    }

    static __device__ void dots(const double* a, const double* b, const double* c, const double* d,
                                const double* x, int n, double* out) {
        out[0] = dot(a, x, n), out[1] = dot(b, x, n), out[2] = dot(c, x, n), out[3] = dot(d, x, n);
    }

    static __device__ void solve_columns(const double* rows, int n, double* x, int width) {
        for (int i = 0; i < n; ++i) {
            const double* l = rows + int64_t(i) * (i + 1) / 2;
            for (int w = lane(); w < width; w += 32) {
                double v = x[int64_t(i) * width + w];
                for (int p = 0; p < i; ++p) v -= l[p] * x[int64_t(p) * width + w];
                x[int64_t(i) * width + w] = v * l[i];
            }
        }
        sync();
    }

    static __device__ int argmax(const double* a, int n) {
        double largest = kForbidden;
        int at = n;
        for (int i = lane(); i < n; i += 32)
            if (a[i] > largest) largest = a[i], at = i;
        return best(largest, at);
    }

    static __device__ void rebase(const double* row, double base, int n, double* out, bool first) {
        for (int i = lane(); i < n; i += 32) {
            double score = row[i] - base;
            out[i] = first || score > out[i] ? score : out[i];
        }
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

    template <bool NonZero>
    static __device__ int agree(const int16_t* a, const int16_t* b, int n) {
        int c = 0;
        for (int i = lane(); i < n; i += 32) c += a[i] == b[i] && !(NonZero && a[i] == 0);
        for (int d = 16; d > 0; d >>= 1) c += __shfl_xor_sync(kAll, c, d);
        return c;
    }

  private:
    static __device__ unsigned largest_unsigned(unsigned x) {
#if __CUDA_ARCH__ >= 800
        return __reduce_max_sync(kAll, x);
#else
        for (int d = 16; d > 0; d >>= 1) {
            unsigned other = __shfl_xor_sync(kAll, x, d);
            x = other > x ? other : x;
        }
        return x;
#endif
    }
};

}  // namespace sparsewood
