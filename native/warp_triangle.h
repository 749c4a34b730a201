// What triangle.h does, by a warp: a lane takes a row, in blocks of 32 rows.
#pragma once

namespace sparsewood {

// Within a block one entry of x after the other is known, and goes to the lanes below.
__device__ __noinline__ inline void forward(const Warp& g, const double* rows, int size, double* x,
                               int known_rows) {
#pragma unroll 1
    for (int b = known_rows; b < size; b += 32) {
        int i = b + g.lane(), count = size - b < 32 ? size - b : 32;
        bool mine = i < size;
        const double* l = rows + packed(mine ? i : b);
        double v = mine ? x[i] : 0, more = 0, inverse = l[mine ? i : b];
        int p = 0;
#pragma unroll 4
        for (; p + 2 <= b; p += 2) v -= l[p] * x[p], more -= l[p + 1] * x[p + 1];
        if (p < b) v -= l[p] * x[p];
        v += more;
#pragma unroll 4
        for (p = 0; p < count; ++p) {
            double left = g.lane() > p && mine ? l[b + p] : 0;
            left *= __shfl_sync(Warp::kAll, inverse, p);
            v -= left * __shfl_sync(Warp::kAll, v, p);
        }
        if (mine) x[i] = v * inverse;
        g.sync();
    }
}

// From the last block to the first; what is known of x goes to the columns on the left.
__device__ __noinline__ inline void backward(const Warp& g, const double* rows, int size, double* x) {
#pragma unroll 1
    for (int stop = size; stop > 0; stop -= 32) {
        int b = stop > 32 ? stop - 32 : 0, count = stop - b;
        bool mine = g.lane() < count;
        double v = mine ? x[b + g.lane()] : 0;
        double inverse = mine ? rows[packed(b + g.lane()) + b + g.lane()] : 0;
        const double* l = rows + packed(stop - 1) + b + g.lane();  // a lane's column, row by row
#pragma unroll 4
        for (int i = count - 1; i > 0; l -= b + i, --i) {
            double left = g.lane() < i ? *l : 0;
            left *= __shfl_sync(Warp::kAll, inverse, i);
            v -= left * __shfl_sync(Warp::kAll, v, i);
        }
        v *= inverse;
        if (mine) x[b + g.lane()] = v;
#pragma unroll 1
        for (int left = 0; left < b; left += 32) {
            int p = left + g.lane();
            double w = p < b ? x[p] : 0;
            l = rows + packed(b) + p;
#pragma unroll 4
            for (int i = 0; i < count; l += b + ++i)
                w -= (p < b ? *l : 0) * __shfl_sync(Warp::kAll, v, i);
            if (p < b) x[p] = w;
        }
        g.sync();
    }
}

// The rows below each one that leaves are updated in place, then all that stay move together.
class WarpRemoval {
  public:
    __device__ WarpRemoval(const Removal& r) : r_(r) {}

    __device__ void remove(const Warp& g, const int32_t* gone, int count) {
        for (int u = 0; u < count; ++u) update(g, gone[u]);
        close_ranks(g, gone, count);
    }

  private:
    Removal r_;

    // Column j spills into the columns on its right.
    __device__ __noinline__ void update(const Warp& g, int j) {
        double carry[2] = {r_.y[0][j], r_.y[1][j]};
        double *cosines = r_.rotations, *sines = cosines + r_.room;
#pragma unroll 1
        for (int b = j + 1; b < r_.size; b += 32) {
            int i = b + g.lane(), count = r_.size - b < 32 ? r_.size - b : 32;
            bool mine = i < r_.size;
            double* l = r_.rows + packed(mine ? i : b);
            double spill = mine ? l[j] : 0, inverse = l[mine ? i : b], scale = 1;
            double own[2] = {mine ? r_.y[0][i] : 0, mine ? r_.y[1][i] : 0};
            if (mine)
#pragma unroll 1
                for (int p = j + 1; p < b; ++p) turn(cosines[p], sines[p], l[p], spill);
#pragma unroll 1
            for (int p = 0; p < count; ++p) {
                // The new diagonal is sqrt(d^2 + spill^2), the old one d = 1 / inverse.
                double tangent = __shfl_sync(Warp::kAll, spill * inverse, p);
                double c = rsqrt(1 + tangent * tangent), s = c * tangent;
                if (g.lane() > p && mine) turn(c, s, l[b + p], spill);
                for (int v = 0; v < 2; ++v) {
                    double x = __shfl_sync(Warp::kAll, own[v], p);
                    if (g.lane() == p) own[v] = c * x + s * carry[v];
                    carry[v] = c * carry[v] - s * x;
                }
                if (g.lane() == p) cosines[b + p] = c, sines[b + p] = s, scale = c;
            }
            if (mine) l[i] = scale * inverse, r_.y[0][i] = own[0], r_.y[1][i] = own[1];
            g.sync();
        }
    }

    static __device__ void turn(double c, double s, double& entry, double& spill) {
        double a = entry;
        entry = c * a + s * spill;
        spill = c * spill - s * a;
    }

    __device__ void close_ranks(const Warp& g, const int32_t* gone, int count) {
#pragma unroll 1
        for (int i = gone[0] + 1, up = 1; i < r_.size; ++i) {
            if (up < count && gone[up] == i) {
                ++up;
                continue;
            }
            const double* from = r_.rows + packed(i);
            double* to = r_.rows + packed(i - up);
#pragma unroll 1
            for (int p = g.lane(), left = 0; p <= i; p += 32) {
                while (left < count && gone[left] < p) ++left;
                if (left == count || gone[left] != p) to[p - left] = from[p];
            }
            if (g.lane() < 2) r_.y[g.lane()][i - up] = r_.y[g.lane()][i];
            g.sync();
        }
    }
};

__device__ inline void remove(const Warp& g, const Removal& removal, const int32_t* gone,
                              int count) {
    WarpRemoval(removal).remove(g, gone, count);
}

}  // namespace sparsewood
