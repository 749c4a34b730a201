// The Cholesky factor L of K = M^T M + 1 1^T, kept up to date as structures enter
// and leave the active set, with the two right-hand sides every solve needs.
//
// L is packed by rows (row i at i (i + 1) / 2) with inverted diagonal, so a structure that enters
// appends one row and the storage grows without moving. K is positive definite if and only if the
// structures are affinely independent. With f the scores of the structures, the
// equality-constrained QP  max <f, q> - 1/2 q^T M^T M q,  1^T q = 1  has the solution
//     q = K^-1 (f + c 1),   c = (1 - y_1^T y_f) / (y_1^T y_1),   y_f = L^-1 f,  y_1 = L^-1 1.
#pragma once

#include "solver/triangle.h"

namespace sparsewood {

struct Cholesky {
    static constexpr int kGone = Removal::kGone;
    int size;
    double* rows;    // packed lower triangle
    double* scores;  // y_f
    double* ones;    // y_1

    static SPARSEWOOD_HD int64_t packed(int64_t k) { return sparsewood::packed(k); }
    SPARSEWOOD_HD double* row(int i) const { return rows + packed(i); }

    // q <- the solution of the QP. Returns its objective, up to a constant:
    // (y_f^T y_f + c y_f^T y_1 - c) / 2.
    template <class G>
    SPARSEWOOD_HD SPARSEWOOD_ONCE double solve(const G& g, double* q) const {
        double dots[3] = {};
        g.products({ones, ones, scores}, {scores, ones, scores}, size, dots);
        double c = (1.0 - dots[0]) / dots[1];
        SPARSEWOOD_ROLLED
        for (int i = g.lane(); i < size; i += g.size()) q[i] = scores[i] + c * ones[i];
        g.sync();
        backward(g, rows, size, q);
        return (dots[2] + c * dots[0] - c) / 2;
    }

    // x <- J x with J = K^-1 - K^-1 1 1^T K^-1 / (1^T K^-1 1), the Jacobian dq / df.
    template <class G>
    SPARSEWOOD_HD void jacobian(const G& g, double* x) const {
        forward(g, rows, size, x, 0);
        double dots[2] = {};
        g.products({ones, ones}, {x, ones}, size, dots);
        double c = dots[0] / dots[1];
        SPARSEWOOD_ROLLED
        for (int i = g.lane(); i < size; i += g.size()) x[i] -= c * ones[i];
        g.sync();
        backward(g, rows, size, x);
    }

    // Appends the structure whose row of K (size entries) is in row(size), the first `known_rows`
    // of them already solved; its score is the sum of the lanes' shares. Returns false without
    // changes if it is affinely dependent on the others.
    template <class G>
    SPARSEWOOD_HD SPARSEWOOD_ONCE bool append(const G& g, int known_rows, double diagonal,
                                              double score) {
        double *l = row(size), dots[3] = {0, -score, 0};
        forward(g, rows, size, l, known_rows);
        g.products({l, l, l}, {l, scores, ones}, size, dots);
        double left = diagonal - dots[0];
        if (!(left > kDependent * diagonal)) return false;
        double inverse = g.inverse_root(left);
        double y_score = -dots[1] * inverse, y_one = (1.0 - dots[2]) * inverse;
        if (g.leader()) {
            l[size] = inverse;
            scores[size] = y_score;
            ones[size] = y_one;
        }
        g.sync();
        ++size;
        return true;
    }

    // Removes at most kGone structures gone[0] < gone[1] < ... rotations: (2 count, room)
    // scratch. spills: (size) scratch.
    template <class G>
    SPARSEWOOD_HD void remove(const G& g, const int32_t* gone, int count, double* rotations,
                              int room, double* spills) {
        Removal removal{rows, size, {scores, ones}, rotations, room, spills};
        sparsewood::remove(g, removal, gone, count);
        size -= count;
    }

  private:
    // A new column counts as dependent below this fraction of its squared length.
    static constexpr double kDependent = 1e-11;
};

}  // namespace sparsewood
