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

namespace sparsewood {

// One warp solves instance blockIdx.x in its share of `memory`, or asks for a larger one. The
// family comes set to the size of the instances.
template <class Family>
__global__ void solve(Family family, const double* theta, const double* range, Limits limits,
                      int room, char* memory, int64_t share, double* weights, Status* status) {
    int64_t b = blockIdx.x;
    Solver<Family> solver;
    solver.family() = family;
    Arena arena{memory + b * share};
    solver.lay_out(arena);
    solver.lay_out_active(arena, room);
    solver.reset(theta + b * cells(family), range[b], limits, true);
    Warp warp;
    Status end = solver.run(warp);
    for (int a = warp.lane(); a < solver.set.size(); a += warp.size())
        weights[b * room + a] = solver.set.weights[a];
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

#define SPARSEWOOD_INSTANTIATE(...)                                                               \
    template __global__ void solve(__VA_ARGS__, const double*, const double*, Limits, int, char*, \
                                   int64_t, double*, Status*);                                    \
    template __global__ void argmax(__VA_ARGS__, const double*, char*, int64_t, int16_t*, bool*);

SPARSEWOOD_INSTANTIATE(Trees<false, false>)
SPARSEWOOD_INSTANTIATE(Trees<false, true>)
SPARSEWOOD_INSTANTIATE(Trees<true, false>)
SPARSEWOOD_INSTANTIATE(Trees<true, true>)
SPARSEWOOD_INSTANTIATE(LabelledTrees<false, false>)
SPARSEWOOD_INSTANTIATE(LabelledTrees<true, true>)
SPARSEWOOD_INSTANTIATE(BoundedTrees<false>)
SPARSEWOOD_INSTANTIATE(BoundedTrees<true>)
SPARSEWOOD_INSTANTIATE(BinaryTrees)
SPARSEWOOD_INSTANTIATE(Chain)
SPARSEWOOD_INSTANTIATE(SemiMarkov)
SPARSEWOOD_INSTANTIATE(Matching<false>)
SPARSEWOOD_INSTANTIATE(Matching<true>)
SPARSEWOOD_INSTANTIATE(Warping)
SPARSEWOOD_INSTANTIATE(GappedAlignment)
SPARSEWOOD_INSTANTIATE(Subset)
SPARSEWOOD_INSTANTIATE(Simplex)

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

}  // namespace sparsewood
