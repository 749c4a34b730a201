// Solves random instances of a family by a Group, for tests/test_lanes.py: once by a CPU thread,
// once by the lanes of a warp. What they find is compared there.
#include "alignment.h"
#include "binary_trees.h"
#include "bounded_trees.h"
#include "chain.h"
#include "columns.cpp"
#include "jacobian.h"
#include "labelled_trees.h"
#include "matching.h"
#include "semi_markov.h"
#include "simplex.h"
#include "solver.h"
#include "spanning_trees.h"
#include "subset.h"

namespace sparsewood {

void poll() {}

struct Question {
    const double* scores;    // (batch, parts)
    const int64_t* size;     // (2) of every instance
    const int64_t* shape;    // (3) of an instance's scores
    const int64_t* options;  // (2) of the family
    int64_t parts;
    Limits limits;
    int64_t crosses, room;
    char* memory;      // (batch, 2, share)
    int64_t share;     // bytes
    double* table;     // (batch, parts) at least
    double* marginals; // (batch, parts)
    double* numbers;   // (batch, 6) status, calls, support, gap, noise, range
};

template <class Family>
double read(const Family& family, const double* from, double* to) {
    double low = -kForbidden, high = kForbidden;
    for (int r = 0; r < family.rows; ++r) {
        Row row = family.row(r);
        if (Family::kEmpty) *to++ = 0;
        for (int c = 0; c < family.width - Family::kEmpty; ++c, ++to) {
            bool skipped = c >= row.skip_begin && c < row.skip_end;
            *to = skipped ? kForbidden : from[row.start + c * row.step];
            if (*to == kForbidden) continue;
            low = *to < low ? *to : low, high = *to > high ? *to : high;
        }
    }
    return high > low ? high - low : 0;
}

template <class Family, class G>
void solve(const G& g, const Question& ask) {
    int64_t b = blockIdx.x;
    Solver<Family> solver;
    Family& family = solver.family();
    family.set_size(ask.size, ask.shape, ask.options);
    double *table = ask.table + b * 2 * ask.parts, *numbers = ask.numbers + 6 * b;
    if (g.leader()) {
        numbers[5] = read(family, ask.scores + b * ask.parts, table);
        family.shift(Thread{}, table);
    }
    g.sync();
    Arena fixed{ask.memory + (2 * b) * ask.share, g.size()};
    Arena active{ask.memory + (2 * b + 1) * ask.share, g.size()};
    solver.lay_out(fixed, fixed);
    solver.lay_out_active(active, static_cast<int>(ask.room));
    solver.reset(table, numbers[5], ask.limits, ask.crosses != 0);
    Status status;
    int room = static_cast<int>(ask.room);
    while ((status = solver.run(g)) == Status::kMoreRoom) {
        ActiveSet<Family> before = solver.set;
        solver.lay_out_active(active, room += room / 2 + solver.set.size());
        solver.set.copy(g, before);
        if (active.used > ask.share) return;
    }
    if (status == Status::kNoStructure) {
        if (g.leader()) numbers[0] = static_cast<int>(status);
        return;
    }
    double* u = ask.marginals + b * ask.parts;
    if (!g.leader()) return;
    for (int a = 0; a < solver.set.size(); ++a)
        for (int i = 0; i < family.slots; ++i) {
            int64_t part = family.part(i, solver.set.codes.code(a)[i]);
            if (part >= 0) u[part] += solver.set.weights[a];
        }
    numbers[0] = static_cast<int>(status), numbers[1] = solver.calls;
    numbers[2] = solver.set.size(), numbers[3] = solver.gap, numbers[4] = solver.noise;
}

template <class Family>
void solve(const Question& ask) {
    if (blockDim.x == 1)
        solve<Family>(Thread{}, ask);
    else
        solve<Family>(Warp{}, ask);
}

}  // namespace sparsewood

#define LANES(name, ...)                                                                         \
    extern "C" __global__ void name(const double* scores, const int64_t* size,                   \
                                    const int64_t* shape, const int64_t* options, int64_t parts, \
                                    double tol, int64_t max_active, int64_t max_iter,            \
                                    int64_t crosses, int64_t room, char* memory, int64_t share,  \
                                    double* table, double* marginals, double* numbers) {         \
        sparsewood::solve<sparsewood::__VA_ARGS__>(                                              \
            {scores, size, shape, options, parts, {tol, max_active, max_iter}, crosses, room,    \
             memory, share, table, marginals, numbers});                                         \
    }
LANES(trees, Trees<false, false>)
LANES(single_root, Trees<false, true>)
LANES(projective, Trees<true, false>)
LANES(projective_single_root, Trees<true, true>)
LANES(bounded, BoundedTrees<false>)
LANES(labelled, LabelledTrees<false, false>)
LANES(labelled_projective, LabelledTrees<true, true>)
LANES(matching, Matching<false>)
LANES(partial_matching, Matching<true>)
LANES(warping, Warping)
LANES(gapped, GappedAlignment)
LANES(binary_trees, BinaryTrees)
LANES(chain, Chain)
LANES(semi_markov, SemiMarkov)
LANES(simplex, Simplex)
LANES(subset, Subset)
LANES(spanning_trees, SpanningTrees)
