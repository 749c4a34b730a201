// SparseMAP on a GPU, kernel alone: one warp an instance, non-projective trees, normal scores.
//
//     nvcc -O3 -std=c++17 -arch=sm_90 -Inative [-DPHASES] benchmarks/cuda/solver.cu native/columns.cpp
//
// Prints for each size the time of a batch, what its first instances differ from the CPU's solver
// in, and, with PHASES, where the cycles of an instance go.
#ifdef PHASES
#define SPARSEWOOD_PHASE(name) sparsewood::Phase phase_##name(#name[0])
namespace sparsewood {
__device__ inline void switch_phase(char now, char& before);
struct Phase {
    char before;
#ifdef __CUDA_ARCH__
    __device__ Phase(char name) { switch_phase(name, before); }
    __device__ ~Phase() {
        char ended;
        switch_phase(before, ended);
    }
#else
    Phase(char) {}
#endif
};
}  // namespace sparsewood
#endif

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "solver.h"
#include "trees.h"

namespace sparsewood {

void poll() {}

#ifdef PHASES
constexpr int kLetters = 26;
struct Clock {
    long long spent[kLetters], since;
    char now;
};
__device__ inline Clock& phase_clock() {
    __shared__ Clock clock;
    return clock;
}
__device__ inline void switch_phase(char now, char& before) {
    __syncwarp();
    Clock& clock = phase_clock();
    before = clock.now;
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
        long long time = clock64();
        clock.spent[clock.now - 'a'] += time - clock.since;
        clock.since = time;
        clock.now = now;
    }
    __syncwarp();
}
#endif

using Family = Trees<false, false>;

struct Batch {
    Family family;
    const double* theta;
    const double* range;
    Limits limits;
    int room;
    char* memory;
    int64_t share;
    double* parts;  // (batch, cells) marginals
    int* counts;    // (batch, 3) status, calls, support
    long long* spent;
};

__global__ void __launch_bounds__(32) solve(Batch batch) {
    int64_t b = blockIdx.x;
    Warp g;
#ifdef PHASES
    Clock& clock = phase_clock();
    if (g.leader()) {
        for (long long& s : clock.spent) s = 0;
        clock.now = 'z', clock.since = clock64();
    }
    g.sync();
#endif
    Solver<Family> solver;
    solver.family() = batch.family;
    Arena arena{batch.memory + b * batch.share, Warp::size()};
    solver.lay_out(arena);
    solver.lay_out_active(arena, batch.room);
    int64_t count = cells(solver.family());
    bool crosses = batch.limits.max_active == 0 || batch.limits.max_active >= batch.family.slots;
    solver.reset(batch.theta + b * count, batch.range[b], batch.limits, crosses);
    Status status = solver.run(g);
    double* u = batch.parts + b * count;
    for (int64_t c = g.lane(); c < count; c += 32) u[c] = 0;
    g.sync();
    for (int a = 0; a < solver.set.size(); ++a) {
        const int16_t* h = solver.set.codes.code(a);
        for (int i = g.lane(); i < batch.family.slots; i += 32)
            u[batch.family.base(i) + h[i]] += solver.set.weights[a];
    }
    if (g.leader()) {
        int* counts = batch.counts + 3 * b;
        counts[0] = static_cast<int>(status), counts[1] = solver.calls;
        counts[2] = solver.set.size();
    }
#ifdef PHASES
    char before;
    switch_phase('z', before);
    if (g.leader())
        for (int i = 0; i < kLetters; ++i) batch.spent[b * kLetters + i] = clock.spent[i];
#endif
}

__global__ void __launch_bounds__(32) best(Batch batch) {
    int64_t b = blockIdx.x;
    Solver<Family> solver;
    solver.family() = batch.family;
    Arena arena{batch.memory + b * batch.share, Warp::size()};
    solver.lay_out(arena);
    solver.family()(Warp{}, batch.theta + b * cells(solver.family()), solver.entering);
}

template <class T>
T* on_device(const std::vector<T>& from) {
    T* to;
    cudaMalloc(&to, from.size() * sizeof(T));
    cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice);
    return to;
}

template <class Launch>
double time_of(Launch launch) {
    cudaEvent_t from, to;
    cudaEventCreate(&from), cudaEventCreate(&to);
    double least = 1e9;
    for (int repeat = 0; repeat < 5; ++repeat) {
        float ms;
        cudaEventRecord(from);
        launch();
        cudaEventRecord(to);
        cudaEventSynchronize(to);
        cudaEventElapsedTime(&ms, from, to);
        if (repeat > 0) least = std::min(least, static_cast<double>(ms));
    }
    return least;
}

void report(int count, int n, int64_t most, int room) {
    Batch batch;
    const int64_t size[1] = {n}, shape[2] = {n, n + 1};
    batch.family.set_size(size, shape, nullptr);
    int64_t width = n + 1, all = cells(batch.family);
    std::mt19937_64 random(n);
    std::normal_distribution<double> normal;
    std::vector<double> theta, range;
    for (int b = 0; b < count; ++b) {
        double low = 1e9, high = -1e9;
        for (int i = 0; i < n; ++i)
            for (int h = 0; h < width; ++h) {
                double s = normal(random);
                if (h != i + 1) low = std::min(low, s), high = std::max(high, s);
                theta.push_back(h == i + 1 ? kForbidden : s);
            }
        batch.family.shift(Thread{}, theta.data() + b * all);
        range.push_back(high - low);
    }
    Solver<Family> solver;
    solver.family() = batch.family;
    Arena measure{nullptr};
    measure.lanes = 32;
    solver.lay_out(measure);
    solver.lay_out_active(measure, room);
    batch.share = measure.used;
    batch.room = room;
    batch.limits = Limits{1e-9, most, 0};
    batch.theta = on_device(theta), batch.range = on_device(range);
    batch.memory = on_device(std::vector<char>(static_cast<size_t>(batch.share * count)));
    batch.parts = on_device(std::vector<double>(theta.size()));
    std::vector<int> counts(3 * static_cast<size_t>(count));
    batch.counts = on_device(counts);
    std::vector<long long> spent(26 * static_cast<size_t>(count));
    batch.spent = on_device(spent);
    double ms = time_of([&] { solve<<<count, 32>>>(batch); });
    double map = time_of([&] { best<<<count, 32>>>(batch); });
    std::vector<double> parts(theta.size());
    cudaMemcpy(parts.data(), batch.parts, parts.size() * 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(counts.data(), batch.counts, counts.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(spent.data(), batch.spent, spent.size() * 8, cudaMemcpyDeviceToHost);
    int status[5] = {}, worst = 0;
    double calls = 0, support = 0;
    for (int b = 0; b < count; ++b) {
        ++status[counts[3 * b]];
        calls += counts[3 * b + 1], support += counts[3 * b + 2];
        worst = std::max(worst, counts[3 * b + 1]);
    }
    double off = 0;
    int other_calls = 0, checked = std::min(count, 64);
    Arena host{nullptr};
    solver.lay_out(host);
    solver.lay_out_active(host, room);
    std::vector<char> memory(static_cast<size_t>(host.used) + 64);
    for (int b = 0; b < checked; ++b) {
        Arena arena{memory.data()};
        solver.lay_out(arena);
        solver.lay_out_active(arena, room);
        solver.reset(theta.data() + b * all, range[b], batch.limits, most == 0 || most >= n);
        if (counts[3 * b] != static_cast<int>(solver.run(Thread{}))) ++status[0], off = 9;
        if (counts[3 * b] == static_cast<int>(Status::kMoreRoom)) continue;
        std::vector<double> u(static_cast<size_t>(all));
        for (int a = 0; a < solver.set.size(); ++a)
            for (int i = 0; i < n; ++i)
                u[batch.family.base(i) + solver.set.codes.code(a)[i]] += solver.set.weights[a];
        for (int64_t c = 0; c < all; ++c) off = std::max(off, fabs(u[c] - parts[b * all + c]));
        other_calls += solver.calls != counts[3 * b + 1];
    }
    printf("%5d x %d max_active %2d: %8.3f ms, map %.4f; solved %d capped %d stalled %d room %d; "
           "calls %.1f (%d) support %.1f; off CPU %.1e, other calls %d of %d; %s\n",
           count, n, static_cast<int>(most), ms, map, status[0], status[1], status[2], status[4],
           calls / count, worst, support / count, off, other_calls, checked,
           cudaGetErrorString(cudaGetLastError()));
#ifdef PHASES
    printf("      kilocycles, mean (worst):");
    for (int i = 0; i < 26; ++i) {
        double sum = 0, top = 0;
        for (int b = 0; b < count; ++b) {
            double s = static_cast<double>(spent[b * 26 + i]) / 1000;
            sum += s, top = std::max(top, s);
        }
        if (sum > 0) printf("  %c %.0f (%.0f)", 'a' + i, sum / count, top);
    }
    printf("\n");
#endif
    cudaFree(const_cast<double*>(batch.theta)), cudaFree(const_cast<double*>(batch.range));
    cudaFree(batch.memory), cudaFree(batch.parts), cudaFree(batch.counts), cudaFree(batch.spent);
}

}  // namespace sparsewood

int main() {
    using sparsewood::report;
    report(64, 20, 0, 96), report(1024, 20, 0, 96);
    report(64, 30, 0, 160), report(1024, 30, 0, 160);
    report(1024, 60, 0, 360);
    report(1024, 30, 10, 32), report(64, 20, 5, 32);
}
