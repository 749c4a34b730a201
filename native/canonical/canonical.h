// Weights that depend only on the marginals: the pulling triangulation of the polytope.
//
// On the smallest face that contains the marginals, the structure maximising the fixed integers of
// preferences.h gets the largest possible weight; then the same for the remaining marginals. The
// structures are affinely independent, and their weights continuous and piecewise linear in the
// marginals (De Loera, Rambau & Santos 2010, "Triangulations", section 4.3).
#pragma once

#include "canonical/by_facets.h"
#include "canonical/by_oracle.h"
#include "canonical/decomposition.h"
#include "canonical/preferences.h"
#include "solver/solver.h"

namespace sparsewood {

// The integers by cell of the table; 0 at cells that are not parts.
template <class Family>
std::vector<double> preferences(const Family& family, const std::vector<int64_t>& shape) {
    std::vector<double> w(static_cast<size_t>(cells(family)), 0.0);
    for (int r = 0; r < family.rows; ++r) {
        Row row = family.row(r);
        for (int c = 0; c + Family::kEmpty < family.width; ++c)
            if (c < row.skip_begin || c >= row.skip_end)
                w[static_cast<size_t>(int64_t(r) * family.width + c + Family::kEmpty)] =
                    preference(row.start + c * row.step, shape.data(), shape.size());
    }
    return w;
}

// The canonical decomposition of the solver's solution, by the facets of the family if they are
// known, else by its oracle. False: not found.
template <class Family>
bool decompose(Solver<Family>& solver, const double* w, Decomposition& out) {
    bool found = decompose_by_facets(solver.family(), solver.set, w, out);
    if (!found) {
        out = {{}, {}, out.calls};
        found = decompose_by_oracle(solver, w, out);
    }
    forget(solver.family());
    return found;
}

// Solves over these structures, for which the solver has room. False: they are affinely dependent
// or not optimal.
template <class Family>
bool take_over(Solver<Family>& solver, const Decomposition& chosen) {
    constexpr double kNegative = -1e-12;
    Thread g;
    auto& set = solver.set;
    int64_t stride = set.codes.stride;
    set.reset(set.theta, true);
    for (int64_t i = 0; i < stride; ++i) set.origin[i] = chosen.codes[static_cast<size_t>(i)];
    set.begin(g);
    for (int a = 1; a < chosen.size(); ++a)
        if (set.append(g, chosen.codes.data() + a * stride) != Entry::kEntered) return false;
    do {
        solver.settle_all(g);
        for (int a = 0; a < set.size(); ++a)
            if (!(set.weights[a] >= kNegative)) return false;
    } while (set.drop_negative(g));
    return solver.is_certified();
}

}  // namespace sparsewood
