// The Cholesky factor L of K = M^T M + 1 1^T, kept up to date as structures enter
// and leave the active set, with the two right-hand sides every solve needs.
//
// L is packed by rows (row i at i (i + 1) / 2), its diagonal inverted, so a structure that
// enters appends one row and the storage grows without moving. K is positive definite exactly when
// the structures are affinely independent. With f the scores of the structures, the
// equality-constrained QP  max <f, q> - 1/2 q^T M^T M q,  1^T q = 1  has the solution
//     q = K^-1 (f + c 1),   c = (1 - y_1^T y_f) / (y_1^T y_1),   y_f = L^-1 f,  y_1 = L^-1 1.
#pragma once

#include "group.h"

namespace sparsewood {

struct Cholesky {
    static constexpr int kGone = 16;  // structures that are removed in one pass, at most
    int size;
    double* rows;    // packed lower triangle
    double* scores;  // y_f
    double* ones;    // y_1

    static SPARSEWOOD_HD int64_t packed(int64_t k) { return k * (k + 1) / 2; }
    SPARSEWOOD_HD double* row(int i) const { return rows + packed(i); }

    // x <- L^-1 x, four rows at a time: their products with what is known are independent. The
    // first `known_rows` entries of x are those of L^-1 x already.
    template <class G>
    SPARSEWOOD_HD void forward(const G& g, double* x, int known_rows = 0) const {
        for (int b = known_rows, stop; b < size; b = stop) {
            stop = b / 4 * 4 + 4 < size ? b / 4 * 4 + 4 : size;
            double known[4];
            g.dots(row(b), row(b + 1 < stop ? b + 1 : b), row(b + 2 < stop ? b + 2 : b),
                   row(b + 3 < stop ? b + 3 : b), x, b, known);
            if (g.leader())
                for (int i = b; i < stop; ++i) {
                    const double* l = row(i);
                    double v = x[i] - known[i - b];
                    for (int p = b; p < i; ++p) v -= l[p] * x[p];
                    x[i] = v * l[i];
                }
            g.sync();
        }
    }

    // x <- L^-T x, four rows at a time.
    template <class G>
    SPARSEWOOD_HD void backward(const G& g, double* x) const {
        for (int b = (size - 1) / 4 * 4; b >= 0; b -= 4) {
            int stop = b + 4 < size ? b + 4 : size;
            if (g.leader())
                for (int i = stop - 1; i >= b; --i) {
                    double v = x[i];
                    for (int p = i + 1; p < stop; ++p) v -= row(p)[i] * x[p];
                    x[i] = v * row(i)[i];
                }
            g.sync();
            subtract_rows(g, b, stop - b, x);
        }
    }

    // q <- the solution of the QP.
    template <class G>
    SPARSEWOOD_HD void solve(const G& g, double* q) const {
        double c = (1.0 - g.dot(ones, scores, size)) / g.dot(ones, ones, size);
        for (int i = g.lane(); i < size; i += g.size()) q[i] = scores[i] + c * ones[i];
        g.sync();
        backward(g, q);
    }

    // The value of the QP at its solution, up to a constant: (y_f^T y_f + c y_f^T y_1 - c) / 2.
    template <class G>
    SPARSEWOOD_HD double objective(const G& g) const {
        double both = g.dot(ones, scores, size);
        double c = (1.0 - both) / g.dot(ones, ones, size);
        return (g.dot(scores, scores, size) + c * both - c) / 2;
    }

    // x <- J x with J = K^-1 - K^-1 1 1^T K^-1 / (1^T K^-1 1), the Jacobian dq / df.
    template <class G>
    SPARSEWOOD_HD void jacobian(const G& g, double* x) const {
        forward(g, x);
        double c = g.dot(ones, x, size) / g.dot(ones, ones, size);
        for (int i = g.lane(); i < size; i += g.size()) x[i] -= c * ones[i];
        g.sync();
        backward(g, x);
    }

    // Appends the structure whose row of K (size entries) already stands in row(size), the first
    // `known_rows` of them solved for. False, and nothing changed, when it is affinely dependent on
    // the others.
    template <class G>
    SPARSEWOOD_HD bool append(const G& g, int known_rows, double diagonal, double score) {
        double* l = row(size);
        forward(g, l, known_rows);
        double left = diagonal - g.dot(l, l, size);
        if (!(left > kDependent * diagonal)) return false;
        double inverse = 1 / sqrt(left);
        double y_score = (score - g.dot(l, scores, size)) * inverse;
        double y_one = (1.0 - g.dot(l, ones, size)) * inverse;
        if (g.leader()) {
            l[size] = inverse;
            scores[size] = y_score;
            ones[size] = y_one;
        }
        g.sync();
        ++size;
        return true;
    }

    // Removes the structures gone[0] < gone[1] < ...: for each the rows below it take a rank-one
    // update by Givens rotations. The rotations of one row form a chain, so G::rows rows per lane
    // advance together, and they take all updates before the next rows are read: once.
    // count: at most kGone. rotations: (2 count, room) scratch. spills: (size) scratch.
    template <class G>
    SPARSEWOOD_HD void remove(const G& g, const int32_t* gone, int count, double* rotations,
                              int room, double* spills) {
        double y_scores[kGone], y_ones[kGone];
        const int step = G::rows * g.size(), first = gone[0];
        for (int block = first, known = 0, stop; block < size; block = stop) {
            int next = known < count ? gone[known] : size - 1;
            stop = block + step <= next ? block + step : next + 1;
            for (int u = 0; u < known; ++u) {  // after u updates row i stands in row i - u
                double *cosines = rotations + int64_t(2 * u) * room, *sines = cosines + room;
                int j = gone[u] - u;
                for (int i = block - u; i < stop - u; ++i) move_up(g, i, first, j, spills);
                rotate(g, block - u, stop - u, j, cosines, sines, spills);
                if (g.leader())
                    for (int i = block - u; i < stop - u; ++i)
                        finish(i, block - u, cosines, sines, spills[i], y_scores[u], y_ones[u]);
                g.sync();
            }
            for (int i = block; known > 0 && i < stop; ++i) {
                const double* from = row(i);
                double* to = row(i - known);
                for (int p = g.lane(); p < first; p += g.size()) to[p] = from[p];
                g.sync();
            }
            if (known < count && stop == next + 1) {
                y_scores[known] = scores[next - known];
                y_ones[known] = ones[next - known];
                ++known;
            }
            g.sync();
        }
        size -= count;
    }

  private:
    // Below this share of its squared length a new column counts as dependent.
    static constexpr double kDependent = 1e-11;

    // x[p] -= sum_i L[i][p] x[i] for the `count` rows i from b on and all p < b.
    template <class G>
    SPARSEWOOD_HD void subtract_rows(const G& g, int b, int count, double* x) const {
        if (count < 4) {
            for (int i = b; i < b + count; ++i) {
                const double* l = row(i);
                double v = x[i];
                for (int p = g.lane(); p < b; p += g.size()) x[p] -= v * l[p];
            }
        } else {
            const double *l0 = row(b), *l1 = row(b + 1), *l2 = row(b + 2), *l3 = row(b + 3);
            double v0 = x[b], v1 = x[b + 1], v2 = x[b + 2], v3 = x[b + 3];
            for (int p = g.lane(); p < b; p += g.size())
                x[p] -= (v0 * l0[p] + v1 * l1[p]) + (v2 * l2[p] + v3 * l3[p]);
        }
        g.sync();
    }

    // The entries of row i from `first` to j move to row i - 1; entry j spills.
    template <class G>
    SPARSEWOOD_HD void move_up(const G& g, int i, int first, int j, double* spills) const {
        const double* from = row(i);
        double* to = row(i - 1);
        for (int p = first + g.lane(); p < j; p += g.size()) to[p] = from[p];
        if (g.leader()) spills[i] = from[j];
        g.sync();
    }

    // Applies the rotations known so far, j + 1 .. block - 1, to rows block .. stop - 1.
    template <class G>
    SPARSEWOOD_HD void rotate(const G& g, int block, int stop, int j, const double* cosines,
                              const double* sines, double* spills) const {
        double spill[G::rows];
        double* from[G::rows];
        int last = stop - 1;
        for (int v = 0; v < G::rows; ++v) {
            int i = block + g.lane() + v * g.size();
            from[v] = row(i < last ? i : last);
            spill[v] = spills[i < last ? i : last];
        }
        // A lane past the end repeats the last row's arithmetic and stores nothing.
        for (int p = j + 1; p < block; ++p) {
            double c = cosines[p], s = sines[p];
            for (int v = 0; v < G::rows; ++v) {
                int i = block + g.lane() + v * g.size();
                double a = from[v][p];
                double kept = c * a + s * spill[v];
                spill[v] = c * spill[v] - s * a;
                if (i < stop) row(i - 1)[p - 1] = kept;
            }
            g.sync();
        }
        for (int v = 0; v < G::rows; ++v) {
            int i = block + g.lane() + v * g.size();
            if (i < stop) spills[i] = spill[v];
        }
        g.sync();
    }

    // The rotations within the block, then the one that clears row i's own spill.
    SPARSEWOOD_HD void finish(int i, int block, double* cosines, double* sines, double spill,
                              double& y_score, double& y_one) const {
        const double* from = row(i);
        double* to = row(i - 1);
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
        double score = scores[i], one = ones[i];
        scores[i - 1] = c * score + s * y_score;
        ones[i - 1] = c * one + s * y_one;
        y_score = c * y_score - s * score;
        y_one = c * y_one - s * one;
    }
};

}  // namespace sparsewood
