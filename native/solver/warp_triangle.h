// triangle.h for a warp: one row per lane, in blocks of 32 rows.
#pragma once

namespace sparsewood {

// Within a block, entries of x are solved one after the other and broadcast to the lanes below.
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

// The same for all columns of x, whose rows are `width` wide, four at a time to hide latency.
__device__ __noinline__ inline void solve_columns(const Warp& g, const double* rows, int size,
                                                  double* x, int width) {
    constexpr int kColumns = 4;
#pragma unroll 1
    for (int b = 0; b < size; b += 32) {
        int i = b + g.lane(), count = size - b < 32 ? size - b : 32;
        bool mine = i < size;
        const double* l = rows + packed(mine ? i : b);
        double inverse = l[mine ? i : b];
#pragma unroll 1
        for (int first = 0; first < width; first += kColumns) {
            double* to = x + i * width + first;
            double v[kColumns];
            for (int c = 0; c < kColumns; ++c) v[c] = mine ? to[c] : 0;
#pragma unroll 2
            for (int p = 0; p < b; ++p)
                for (int c = 0; c < kColumns; ++c) v[c] -= l[p] * x[p * width + first + c];
#pragma unroll 2
            for (int p = 0; p < count; ++p) {
                double left = g.lane() > p && mine ? l[b + p] : 0;
                left *= __shfl_sync(Warp::kAll, inverse, p);
                for (int c = 0; c < kColumns; ++c)
                    v[c] -= left * __shfl_sync(Warp::kAll, v[c], p);
            }
            for (int c = 0; c < kColumns && mine; ++c) to[c] = v[c] * inverse;
        }
        g.sync();
    }
}

// From the last block to the first; known entries of x are applied to the columns on the left.
__device__ __noinline__ inline void backward(const Warp& g, const double* rows, int size,
                                             double* x) {
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

// Updates the rows below each removed row in place, then compacts the remaining rows.
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
                double c = g.inverse_root(1 + tangent * tangent), s = c * tangent;
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

    // Columns in blocks of 32, one per lane, several rows at a time. Writes are to the left of
    // reads, or in a block of rows that has been read.
    __device__ __noinline__ void close_ranks(const Warp& g, const int32_t* gone, int count) {
        constexpr int kRows = 4;
#pragma unroll 1
        for (int block = 0; block < r_.size; block += 32) {
            int p = block + g.lane(), left = 0, up = 0;
            while (left < count && gone[left] < p) ++left;
            bool stays = p < r_.size && !(left < count && gone[left] == p);
            close_ranks_of(g, r_.y[0], p, left, stays);
            close_ranks_of(g, r_.y[1], p, left, stays);
#pragma unroll 1
            for (int i = gone[0]; i < r_.size;) {
                double entry[kRows];
                int from[kRows], to[kRows];
                for (int v = 0; v < kRows; ++v, ++i) {
                    while (up < count && gone[up] == i) ++up, ++i;
                    from[v] = i, to[v] = i - up;
                    entry[v] = i < r_.size && p <= i ? r_.rows[packed(i) + p] : 0;
                }
                g.sync();
                for (int v = 0; v < kRows; ++v)
                    if (stays && from[v] < r_.size && p <= from[v])
                        r_.rows[packed(to[v]) + p - left] = entry[v];
                g.sync();
            }
        }
    }

    static __device__ void close_ranks_of(const Warp& g, double* x, int p, int left, bool stays) {
        double entry = stays ? x[p] : 0;
        g.sync();
        if (stays) x[p - left] = entry;
    }
};

__device__ inline void remove(const Warp& g, const Removal& removal, const int32_t* gone,
                              int count) {
    WarpRemoval(removal).remove(g, gone, count);
}

}  // namespace sparsewood
