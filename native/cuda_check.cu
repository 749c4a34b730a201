// Compiled only, never run: the solver, the four tree oracles and the Jacobian as device code, one
// warp to an instance. It keeps the headers free of anything a GPU does not have.
#include "jacobian.h"
#include "solver.h"
#include "trees.h"

namespace spinney {

// One warp solves instance blockIdx.x in its share of `memory`, or asks for a larger one.
template <bool Projective, bool SingleRoot>
__global__ void solve_trees(const double* theta, const double* range, Limits limits, int words,
                            int room, char* memory, int64_t share, double* weights,
                            Status* status) {
    using Oracle = TreeOracle<Projective, SingleRoot>;
    int64_t b = blockIdx.x;
    Solver<Oracle> solver;
    Arena arena{memory + b * share};
    solver.lay_out(arena, words, words + 1);
    solver.lay_out_active(arena, room);
    solver.reset(theta + b * words * (words + 1), range[b], limits, true);
    Warp warp;
    Status end = solver.run(warp);
    for (int a = warp.lane(); a < solver.size(); a += warp.size())
        weights[b * room + a] = solver.weights[a];
    if (warp.leader()) status[b] = end;
}

template <bool Projective, bool SingleRoot>
__global__ void argmax_trees(const double* theta, int words, char* memory, int64_t share,
                             int16_t* trees, bool* found) {
    int64_t b = blockIdx.x;
    TreeOracle<Projective, SingleRoot> oracle;
    Arena arena{memory + b * share};
    oracle.lay_out(arena, words);
    Warp warp;
    bool any = oracle(warp, theta + b * words * (words + 1), trees + b * words);
    if (warp.leader()) found[b] = any;
}

#define SPINNEY_INSTANTIATE(projective, single_root)                                          \
    template __global__ void solve_trees<projective, single_root>(                            \
        const double*, const double*, Limits, int, int, char*, int64_t, double*, Status*);    \
    template __global__ void argmax_trees<projective, single_root>(const double*, int, char*, \
                                                                   int64_t, int16_t*, bool*);

SPINNEY_INSTANTIATE(false, false)
SPINNEY_INSTANTIATE(false, true)
SPINNEY_INSTANTIATE(true, false)
SPINNEY_INSTANTIATE(true, true)

// One warp applies the Jacobian of instance blockIdx.x, whose structures begin at first[b] and
// whose factor at packed[b].
__global__ void jacobian_trees(const int64_t* structures, const int64_t* first,
                               const int64_t* packed, const int64_t* lengths, int64_t words,
                               const double* factor, const double* on_weights,
                               const double* on_parts, double* out_weights, double* out_parts,
                               double* ones) {
    int64_t b = blockIdx.x, begin = first[b], parts = words * (words + 1);
    apply_jacobian(Warp{}, structures + begin * words, static_cast<int>(first[b + 1] - begin),
                   static_cast<int>(lengths[b]), words, factor + packed[b], on_weights + begin,
                   on_parts + b * parts, out_weights + begin, out_parts + b * parts, ones + begin);
}

}  // namespace spinney
