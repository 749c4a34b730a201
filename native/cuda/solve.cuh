// SparseMAP of each instance (solver.h), one group of lanes per instance. `Chosen` is the family,
// defined before this file is included.
//
// The host launches solve and tally, reads the totals, and repeats solve for the instances that
// need more memory until there are none; then write_solutions. Between launches the state of a
// solver is stored in the desk of its instance.
#pragma once

#include "cuda/padded.cuh"
#include "cuda/tally.cuh"

namespace sparsewood {

using SolveGroup = Warp;

// The header of an instance's memory, which persists between launches.
template <class Family>
struct Desk {
    Solver<Family> solver;
    double range;  // of the finite scores
    bool crosses;  // whether crosses enter in this run
};

// The memory of an instance, which persists between launches.
template <class Family>
struct Kept {
    Desk<Family>* desk;
    double* theta;  // (cells)

    __device__ Kept(Solver<Family>& solver, Arena& arena) {
        desk = arena.take<Desk<Family>>(1);
        solver.lay_out(arena);
        theta = arena.take<double>(cells(solver.family()));
    }
};

// The results of each instance; status is kNoStructure if there is none, for any reason.
struct Results {
    int64_t* sizes;   // (batch)
    int64_t* widths;  // (batch) maximum number of parts of a structure
    int64_t* status;  // (batch)
    int64_t* calls;   // (batch)
    double* gap;      // (batch)
};

// The number of active structures that suffices for most instances.
template <class Family>
__device__ int64_t first_room(const Family& family, int64_t max_active) {
    constexpr int64_t kLeast = 64, kMost = 512;
    int64_t each = family.width == 2 ? 2 : 8;  // binary slots are numerous
    int64_t room = each * family.slots;
    room = room < kLeast ? kLeast : room > kMost ? kMost : room;
    int64_t capped = 2 * max_active + 4;  // each may be crossed, and one more enters
    return max_active > 0 && capped < room ? capped : room;
}

template <class G, class Family>
__device__ Status start(const G& g, const Padded& given, int64_t b, double temperature,
                        Limits limits, Arena& arena, Solver<Family>& solver, Desk<Family>& desk) {
    if (!given.set_size(solver.family(), b) || !is_temperature(temperature))
        return Status::kNoStructure;
    Kept<Family> kept(solver, arena);
    Reading found = read_scores(g, solver.family(), given.instance(b), temperature, kept.theta);
    if (found.bad >= 0) return Status::kNoStructure;
    desk.range = found.range;
    desk.crosses = starts_with_crosses(solver.family(), limits, found.range);
    solver.reset(kept.theta, desk.range, limits, desk.crosses);
    return Status::kMoreRoom;
}

// Runs until the solve ends or needs more memory.
template <class G, class Family>
__device__ Status advance(const G& g, Limits limits, Solver<Family>& solver, Desk<Family>& desk) {
    Status status;
    while ((status = solver.run(g)) == Status::kCapped && desk.crosses) {
        desk.crosses = false;
        solver.reset(solver.set.theta, desk.range, limits, false);
    }
    return status;
}

template <class G, class Family>
__device__ int most_parts(const G& g, const Solver<Family>& solver) {
    if (!Family::kEmpty) return solver.family().slots;
    double most = 0;
    for (int a = 0; a < solver.set.size(); ++a) {
        const int16_t* code = solver.set.codes.code(a);
        double parts = 0;
        for (int i = g.lane(); i < solver.family().slots; i += g.size()) parts += code[i] != 0;
        parts = g.sum(parts);
        most = parts > most ? parts : most;
    }
    return static_cast<int>(most);
}

template <class G, class Family>
__device__ void report(const G& g, int64_t b, Status status, const Solver<Family>& solver,
                       const Results& out) {
    bool ended = status != Status::kMoreRoom && status != Status::kNoStructure;
    int width = ended ? most_parts(g, solver) : 0;
    if (!g.leader()) return;
    out.sizes[b] = ended ? solver.set.size() : 0;
    out.widths[b] = width;
    out.status[b] = static_cast<int64_t>(ended ? verdict(solver, status) : status);
    if (!ended) return;
    out.calls[b] = solver.calls;
    out.gap[b] = solver.gap > 0 ? solver.gap : 0;
}

// The parts of a structure, in the order of its slots, padded with -1.
template <class Family>
__device__ void write_parts(Warp g, const Family& family, const int16_t* code, int64_t* used,
                            int64_t width) {
    int64_t count = 0;
    for (int start = 0; start < family.slots; start += g.size()) {
        int i = start + g.lane();
        int64_t part = i < family.slots ? family.part(i, code[i]) : -1;
        unsigned filled = __ballot_sync(Warp::kAll, part >= 0);
        if (part >= 0) used[count + __popc(filled & ((1u << g.lane()) - 1))] = part;
        count += __popc(filled);
    }
    for (int64_t i = count + g.lane(); i < width; i += g.size()) used[i] = -1;
}

// (parts) the marginals: for each part the sum of the weights of the structures that use it, in
// order. `narrow`, if not null, receives them in float32.
template <class Family>
__device__ void write_marginals(Warp g, const Solver<Family>& solver, double* marginals,
                                float* narrow, int64_t parts) {
    for (int64_t p = g.lane(); p < parts; p += g.size()) marginals[p] = 0;
    g.sync();
    for (int a = 0; a < solver.set.size(); ++a) {
        const int16_t* code = solver.set.codes.code(a);
        double weight = solver.set.weights[a];
        for (int i = g.lane(); i < solver.family().slots; i += g.size()) {
            int64_t part = solver.family().part(i, code[i]);
            if (part >= 0) marginals[part] += weight;
        }
        g.sync();
    }
    for (int64_t p = g.lane(); narrow && p < parts; p += g.size())
        narrow[p] = static_cast<float>(marginals[p]);
}

}  // namespace sparsewood

extern "C" {

// For an instance of full size: (persistent bytes, bytes for active structures, their capacity,
// threads). room 0: the capacity that most instances need.
__global__ void measure(SPARSEWOOD_PADDED, int64_t max_active, int64_t room, int64_t* found) {
    using namespace sparsewood;
    Padded given{SPARSEWOOD_PADDED_ARGUMENTS};
    Solver<Chosen> solver;
    solver.family().set_size(given.full, given.shape, given.options);
    Arena kept{nullptr, SolveGroup::size()}, active{nullptr, SolveGroup::size()};
    Kept<Chosen> memory(solver, kept);
    if (room == 0) room = first_room(solver.family(), max_active);
    solver.lay_out_active(active, static_cast<int>(room));
    found[0] = kept.used, found[1] = active.used, found[2] = room;
    found[3] = SolveGroup::size();
}

// temperature: (batch), `step` apart. kept: (batch, kept_share). active: (grid, active_share), with
// capacity `room`. pending: null, or the instances (grid) to continue.
__global__ void solve(SPARSEWOOD_PADDED, const double* temperature, int64_t step, double tol,
                      int64_t max_active, int64_t max_iter, int64_t most_structures, char* kept,
                      int64_t kept_share, char* active, int64_t active_share, int64_t room,
                      const int64_t* pending, int64_t* sizes_out, int64_t* widths,
                      int64_t* status_out, int64_t* calls, double* gap) {
    using namespace sparsewood;
    Padded given{SPARSEWOOD_PADDED_ARGUMENTS};
    Limits limits{tol, max_active, max_iter, most_structures};
    SolveGroup g;
    int64_t b = pending ? pending[blockIdx.x] : blockIdx.x;
    char* memory = kept + b * kept_share;
    auto* desk = reinterpret_cast<Desk<Chosen>*>(memory);
    Arena own{memory, g.size()}, roomy{active + blockIdx.x * active_share, g.size()};
    Desk<Chosen> now;
    Status status = Status::kMoreRoom;
    if (pending) {
        now = *desk;
        now.solver.lay_out_active(roomy, static_cast<int>(room));
        now.solver.set.copy(g, desk->solver.set);
        g.sync();
    } else {
        status = start(g, given, b, temperature[b * step], limits, own, now.solver, now);
        if (status == Status::kMoreRoom)
            now.solver.lay_out_active(roomy, static_cast<int>(room));
    }
    if (status == Status::kMoreRoom) status = advance(g, limits, now.solver, now);
    report(g, b, status, now.solver, {sizes_out, widths, status_out, calls, gap});
    if (g.leader()) *desk = now;
}

// totals: structures, entries of factors, maximum parts of a structure, instances that need more
// memory (listed in `pending`), instances without a result.
__global__ void tally(const int64_t* sizes, const int64_t* widths, const int64_t* status,
                      int64_t batch, int64_t* first, int64_t* packed, int64_t* pending,
                      int64_t* totals) {
    using namespace sparsewood;
    __shared__ long long width, failed;
    if (threadIdx.x == 0) width = failed = 0;
    __syncthreads();
    for (int64_t b = threadIdx.x; b < batch; b += kTallyThreads) {
        atomicMax(&width, static_cast<long long>(widths[b]));
        if (status[b] == static_cast<int64_t>(Status::kNoStructure)) atomicMax(&failed, 1LL);
    }
    Tally all = tally_sizes(sizes, batch, first, packed, pending, [&](int64_t b) {
        return status[b] == static_cast<int64_t>(Status::kMoreRoom);
    });
    if (threadIdx.x > 0) return;
    totals[0] = all.structures, totals[1] = all.packed, totals[2] = width;
    totals[3] = all.pending, totals[4] = failed;
}

// structures: (total, event), left out if `event` is 0; used: (total, width); factor: (packed).
// weights (total) and marginals (batch, parts) are float32 if `sums`, (batch, parts) scratch
// memory, is not null. One block of several warps per instance: the first sums the marginals.
__global__ void write_solutions(const char* kept, int64_t kept_share, const int64_t* first,
                                const int64_t* packed, int64_t event, int64_t width,
                                int64_t parts, int64_t* structures, void* weights, int64_t* used,
                                double* factor, void* marginals, double* sums) {
    using namespace sparsewood;
    int64_t b = blockIdx.x, begin = first[b];
    auto* wide = sums ? sums : static_cast<double*>(marginals);
    auto* narrow = sums ? static_cast<float*>(marginals) + b * parts : nullptr;
    const auto& solver = reinterpret_cast<const Desk<Chosen>*>(kept + b * kept_share)->solver;
    const auto& set = solver.set;
    Warp g;
    int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    if (warp == 0) write_marginals(g, solver, wide + b * parts, narrow, parts);
    for (int a = warp; a < set.size(); a += warps) {
        const int16_t* code = set.codes.code(a);
        if (event > 0) solver.family().event(g, code, structures + (begin + a) * event);
        write_parts(g, solver.family(), code, used + (begin + a) * width, width);
    }
    for (int a = threadIdx.x; a < set.size(); a += blockDim.x)
        if (sums)
            static_cast<float*>(weights)[begin + a] = static_cast<float>(set.weights[a]);
        else
            static_cast<double*>(weights)[begin + a] = set.weights[a];
    for (int64_t i = threadIdx.x; i < Cholesky::packed(set.size()); i += blockDim.x)
        factor[packed[b] + i] = set.factor.rows[i];
}

}  // extern "C"
