// Linear systems with a lower triangle L, packed by rows (row i at i (i + 1) / 2) with inverted
// diagonal, and its update when rows are removed.
//
// These are the versions for one lane; the versions for a warp are in warp_triangle.h.
#pragma once

#include "group/group.h"

namespace sparsewood {

SPARSEWOOD_HD inline int64_t packed(int64_t k) { return k * (k + 1) / 2; }

// x <- L^-1 x for an L of `size` rows, four rows at a time, whose products with known entries are
// independent. The first `known_rows` entries of x are already solved.
template <class G>
SPARSEWOOD_HD void forward(const G& g, const double* rows, int size, double* x, int known_rows) {
    auto row = [&](int i) { return rows + packed(i); };
    for (int b = known_rows, stop; b < size; b = stop) {
        stop = b / 4 * 4 + 4 < size ? b / 4 * 4 + 4 : size;
        double known[4];
        g.dots(row(b), row(b + 1 < stop ? b + 1 : b), row(b + 2 < stop ? b + 2 : b),
               row(b + 3 < stop ? b + 3 : b), x, b, known);
        for (int i = b; i < stop; ++i) {
            const double* l = row(i);
            double v = x[i] - known[i - b];
            for (int p = b; p < i; ++p) v -= l[p] * x[p];
            x[i] = v * l[i];
        }
    }
}

#ifndef __CUDACC_RTC__
// x <- L^-1 x for an x of `size` rows of `width` columns, a multiple of G::kColumns.
inline void solve_columns(const Thread&, const double* rows, int size, double* x, int width) {
    solve_columns(rows, size, x, width);
}
#endif

// x <- L^-T x, four rows at a time.
template <class G>
SPARSEWOOD_HD void backward(const G&, const double* rows, int size, double* x) {
    auto row = [&](int i) { return rows + packed(i); };
    for (int b = (size - 1) / 4 * 4; b >= 0; b -= 4) {
        int stop = b + 4 < size ? b + 4 : size;
        for (int i = stop - 1; i >= b; --i) {
            double v = x[i];
            for (int p = i + 1; p < stop; ++p) v -= row(p)[i] * x[p];
            x[i] = v * row(i)[i];
        }
        if (stop - b < 4) {
            for (int i = b; i < stop; ++i) {
                const double* l = row(i);
                double v = x[i];
                for (int p = 0; p < b; ++p) x[p] -= v * l[p];
            }
        } else {
            const double *l0 = row(b), *l1 = row(b + 1), *l2 = row(b + 2), *l3 = row(b + 3);
            double v0 = x[b], v1 = x[b + 1], v2 = x[b + 2], v3 = x[b + 3];
            for (int p = 0; p < b; ++p)
                x[p] -= (v0 * l0[p] + v1 * l1[p]) + (v2 * l2[p] + v3 * l3[p]);
        }
    }
}

// Removes rows and columns gone[0] < gone[1] < ... from L L^T. For each removed row, the rows below
// get a rank-one update by Givens rotations, as do two right-hand sides y = L^-1 z. The rotations
// of one row form a chain, so kRows rows advance together and take all updates in one pass.
class Removal {
  public:
    static constexpr int kGone = 16;  // maximum number of rows removed in one pass

    double* rows;
    int size;
    double* y[2];
    double* rotations;  // (2 count, room) scratch
    int room;
    double* spills;  // (size) scratch

    SPARSEWOOD_HD void remove(const int32_t* gone, int count) {
        double carry[kGone][2];
        const int first = gone[0];
        for (int block = first, known = 0, stop; block < size; block = stop) {
            int next = known < count ? gone[known] : size - 1;
            stop = block + kRows <= next ? block + kRows : next + 1;
            for (int u = 0; u < known; ++u) {  // after u updates row i is stored in row i - u
                double *cosines = rotations + int64_t(2 * u) * room, *sines = cosines + room;
                int j = gone[u] - u;
                for (int i = block - u; i < stop - u; ++i) move_up(i, first, j);
                rotate(block - u, stop - u, j, cosines, sines);
                for (int i = block - u; i < stop - u; ++i)
                    finish(i, block - u, cosines, sines, carry[u]);
            }
            for (int i = block; known > 0 && i < stop; ++i) {
                const double* from = row(i);
                double* to = row(i - known);
                for (int p = 0; p < first; ++p) to[p] = from[p];
            }
            if (known < count && stop == next + 1) {
                for (int v = 0; v < 2; ++v) carry[known][v] = y[v][next - known];
                ++known;
            }
        }
    }

  private:
    static constexpr int kRows = 4;

    SPARSEWOOD_HD double* row(int i) const { return rows + packed(i); }

    // The entries of row i from `first` to j move to row i - 1; entry j spills.
    SPARSEWOOD_HD void move_up(int i, int first, int j) const {
        const double* from = row(i);
        double* to = row(i - 1);
        for (int p = first; p < j; ++p) to[p] = from[p];
        spills[i] = from[j];
    }

    // Applies the known rotations j + 1 .. block - 1 to rows block .. stop - 1.
    SPARSEWOOD_HD void rotate(int block, int stop, int j, const double* cosines,
                              const double* sines) const {
        double spill[kRows];
        double* from[kRows];
        int last = stop - 1;
        for (int v = 0; v < kRows; ++v) {
            int i = block + v < last ? block + v : last;
            from[v] = row(i);
            spill[v] = spills[i];
        }
        // Past the end, the arithmetic of the last row is repeated without storing.
        for (int p = j + 1; p < block; ++p) {
            double c = cosines[p], s = sines[p];
            for (int v = 0; v < kRows; ++v) {
                double a = from[v][p];
                double kept = c * a + s * spill[v];
                spill[v] = c * spill[v] - s * a;
                if (block + v < stop) row(block + v - 1)[p - 1] = kept;
            }
        }
        for (int v = 0; v < kRows && block + v < stop; ++v) spills[block + v] = spill[v];
    }

    // The rotations within the block, then the one that clears row i's own spill.
    SPARSEWOOD_HD void finish(int i, int block, double* cosines, double* sines,
                              double (&carry)[2]) const {
        const double* from = row(i);
        double *to = row(i - 1), spill = spills[i];
        for (int p = block; p < i; ++p) {
            double a = from[p];
            to[p - 1] = cosines[p] * a + sines[p] * spill;
            spill = cosines[p] * spill - sines[p] * a;
        }
        // The new diagonal is sqrt(d^2 + spill^2), the old one d = 1 / from[i].
        double tangent = spill * from[i];
        double c = 1 / sqrt(1 + tangent * tangent), s = c * tangent;
        cosines[i] = c;
        sines[i] = s;
        to[i - 1] = c * from[i];
        for (int v = 0; v < 2; ++v) {
            double x = y[v][i];
            y[v][i - 1] = c * x + s * carry[v];
            carry[v] = c * carry[v] - s * x;
        }
    }
};

template <class G>
SPARSEWOOD_HD void remove(const G&, Removal removal, const int32_t* gone, int count) {
    removal.remove(gone, count);
}

}  // namespace sparsewood

#ifdef __CUDACC__
#include "solver/warp_triangle.h"
#endif
