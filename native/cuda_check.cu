// Compiled only, never run: the solver with every family and the Jacobian as device code, one warp
// to an instance. It keeps the headers free of anything a GPU does not have.
#include "alignment.h"
#include "binary_trees.h"
#include "bounded_trees.h"
#include "chain.h"
#include "jacobian.h"
#include "labelled_trees.h"
#include "matching.h"
#include "semi_markov.h"
#include "simplex.h"
#include "solver.h"
#include "subset.h"
#include "trees.h"

namespace spinney {

// One warp solves instance blockIdx.x in its share of `memory`, or asks for a larger one. The
// family comes set to the size of the instances.
template <class Family>
__global__ void solve(Family family, const double* theta, const double* range, Limits limits,
                      int room, char* memory, int64_t share, double* weights, Status* status) {
    int64_t b = blockIdx.x;
    Solver<Family> solver;
    solver.family = family;
    Arena arena{memory + b * share};
    solver.lay_out(arena);
    solver.lay_out_active(arena, room);
    solver.reset(theta + b * cells(family), range[b], limits, true);
    Warp warp;
    Status end = solver.run(warp);
    for (int a = warp.lane(); a < solver.size(); a += warp.size())
        weights[b * room + a] = solver.weights[a];
    if (warp.leader()) status[b] = end;
}

template <class Family>
__global__ void argmax(Family family, const double* theta, char* memory, int64_t share,
                       int16_t* codes, bool* found) {
    int64_t b = blockIdx.x;
    Arena arena{memory + b * share};
    family.lay_out(arena);
    Warp warp;
    bool any = family(warp, theta + b * cells(family), codes + b * family.slots);
    if (warp.leader()) found[b] = any;
}

#define SPINNEY_INSTANTIATE(...)                                                                  \
    template __global__ void solve(__VA_ARGS__, const double*, const double*, Limits, int, char*, \
                                   int64_t, double*, Status*);                                    \
    template __global__ void argmax(__VA_ARGS__, const double*, char*, int64_t, int16_t*, bool*);

SPINNEY_INSTANTIATE(Trees<false, false>)
SPINNEY_INSTANTIATE(Trees<false, true>)
SPINNEY_INSTANTIATE(Trees<true, false>)
SPINNEY_INSTANTIATE(Trees<true, true>)
SPINNEY_INSTANTIATE(LabelledTrees<false, false>)
SPINNEY_INSTANTIATE(LabelledTrees<true, true>)
SPINNEY_INSTANTIATE(BoundedTrees<false>)
SPINNEY_INSTANTIATE(BoundedTrees<true>)
SPINNEY_INSTANTIATE(BinaryTrees)
SPINNEY_INSTANTIATE(Chain)
SPINNEY_INSTANTIATE(SemiMarkov)
SPINNEY_INSTANTIATE(Matching<false>)
SPINNEY_INSTANTIATE(Matching<true>)
SPINNEY_INSTANTIATE(Warping)
SPINNEY_INSTANTIATE(GappedAlignment)
SPINNEY_INSTANTIATE(Subset)
SPINNEY_INSTANTIATE(Simplex)

// One warp applies the Jacobian of instance blockIdx.x, whose structures begin at first[b] and
// whose factor at packed[b].
__global__ void jacobian(const int64_t* parts, const int64_t* first, const int64_t* packed,
                         int64_t width, int64_t cells, const double* factor,
                         const double* on_weights, const double* on_parts, double* out_weights,
                         double* out_parts, double* ones) {
    int64_t b = blockIdx.x, begin = first[b];
    apply_jacobian(Warp{}, parts + begin * width, static_cast<int>(first[b + 1] - begin), width,
                   factor + packed[b], on_weights + begin, on_parts + b * cells,
                   out_weights + begin, out_parts + b * cells, ones + begin);
}

}  // namespace spinney
