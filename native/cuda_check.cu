// Compiled only, never run: the solver with every family and the Jacobian as device code, one warp
// to an instance. It keeps the headers free of anything a GPU does not have. The files of families/
// are included after this one, by tests/test_cuda_compile.py.
#include "jacobian.h"
#include "registry.h"
#include "solver.h"

namespace sparsewood {

// A batch of instances of one size.
struct DeviceBatch {
    const void* family;   // set to that size
    const double* theta;  // (batch, cells)
    const double* range;  // (batch)
    Limits limits;
    int room;         // for active structures
    char* memory;     // (batch, share)
    int64_t share;    // bytes of an instance
    int16_t* codes;   // (batch, slots)
    double* weights;  // (batch, room)
    Status* status;   // (batch)
};

// One warp finds the best structure of instance blockIdx.x and solves it in its share of the
// memory, or asks for a larger one.
template <class Family>
__device__ void solve(const DeviceBatch& batch) {
    int64_t b = blockIdx.x;
    Solver<Family> solver;
    solver.family() = *static_cast<const Family*>(batch.family);
    Arena arena{batch.memory + b * batch.share};
    solver.lay_out(arena, Warp::size());
    solver.lay_out_active(arena, batch.room);
    const double* theta = batch.theta + b * cells(solver.family());
    Warp warp;
    if (!solver.family()(warp, theta, batch.codes + b * solver.family().slots)) return;
    solver.reset(theta, batch.range[b], batch.limits, true);
    Status end = solver.run(warp);
    for (int a = warp.lane(); a < solver.set.size(); a += warp.size())
        batch.weights[b * batch.room + a] = solver.set.weights[a];
    if (warp.leader()) batch.status[b] = end;
}

template <class... Families>
__device__ void check(const DeviceBatch& batch) {
    (solve<Families>(batch), ...);
}

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
