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

    static __device__ double max(double x) {
        for (int d = 16; d > 0; d >>= 1) {
            double other = __shfl_xor_sync(kAll, x, d);
            x = other > x ? other : x;
        }
        return x;
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
        double best = kForbidden;
        int at = n;
        for (int i = lane(); i < n; i += 32)
            if (a[i] > best) best = a[i], at = i;
        for (int d = 16; d > 0; d >>= 1) {
            double other = __shfl_xor_sync(kAll, best, d);
            int where = __shfl_xor_sync(kAll, at, d);
            if (other > best || (other == best && where < at)) best = other, at = where;
        }
        return best == kForbidden ? -1 : at;
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
};

}  // namespace sparsewood
