// Shifts the scores of segmentations in place, one block per sequence: see
// structures/recursions/semi_markov.py, chain.py and shifted.py.
#pragma once

#include "cuda/segments.cuh"

namespace sparsewood {

// Subtracts the largest scores of states and of steps at each position, of which every chain has
// one. Returns their sum over positions. `tops` is (T, 2), `row_tops` (T, K).
__device__ inline double take_off_tops(const Team& team, const Segmentation& s, int stop,
                                       double* scores, double* tops, double* row_tops) {
    const int width = 1 + s.labels, rows = stop * s.labels;
    team.rows(rows, [&](int row, bool mine) {
        const double* steps = scores + int64_t(row) * width + 1;
        double top = largest(team, s.labels, [&](int j) { return steps[j]; });
        if (mine && team.lane() == 0) row_tops[row] = top;
    });
    __syncthreads();
    team.rows(stop, [&](int t, bool mine) {
        double states = largest(team, s.labels, [&](int k) { return s.row(t, k)[0]; });
        double steps = largest(team, s.labels, [&](int k) { return row_tops[s.at(t, k)]; });
        if (mine && team.lane() == 0)
            tops[2 * t] = or_zero(states), tops[2 * t + 1] = or_zero(steps);
    });
    __syncthreads();
    team.rows(rows, [&](int row, bool mine) {
        const double* of = tops + row / s.labels * 2;
        for (int c = team.lane(); c < width && mine; c += team.width())
            scores[int64_t(row) * width + c] -= of[c > 0];
    });
    double sum = 0;
    for (int i = team.lane(); i < 2 * stop; i += team.width()) sum += tops[i];
    return team.sum(sum);
}

// Rounds potentials to multiples of one power of two, so that differences are exact.
__device__ inline void put_on_a_grid(const Team& team, double* starts, int start_count,
                                     double* ends, int end_count) {
    int count = start_count + end_count;
    auto at = [&](int i) -> double& { return i < start_count ? starts[i] : ends[i - start_count]; };
    double high = largest(team, count, [&](int i) { return or_zero(at(i)); });
    double low = -largest(team, count, [&](int i) { return -or_zero(at(i)); });
    double reach = (high > 0 ? high : 0) - (low < 0 ? low : 0);
    int exponent;
    frexp(reach > 1e-200 ? reach : 1e-200, &exponent);
    double unit = ldexp(1.0, exponent - 53);
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        at(i) = rint(or_zero(at(i)) / unit) * unit;
    __syncthreads();
}

}  // namespace sparsewood

// Scores (B, T, K, D + K), in place, and the constant `shared` (B,). `starts` (B, T, K), `ends`
// (B, T + 1, K) and `tops` (B, T, 2) are scratch memory.
extern "C" __global__ void segment_shift(double* scores, const int64_t* lengths, int64_t positions,
                                         int64_t labels, int64_t longest, int64_t width,
                                         double* starts, double* ends, double* tops,
                                         double* shared) {
    using namespace sparsewood;
    int64_t b = blockIdx.x, rows = positions * labels;
    scores += b * rows * (longest + labels);
    starts += b * rows, ends += b * (rows + labels), tops += b * 2 * positions;
    Segmentation s{scores, int(labels), int(longest)};
    Team team(width);
    int stop = int(lengths[b]);
    double sum = longest == 1 ? take_off_tops(team, s, stop, scores, tops, starts) : 0;
    __syncthreads();
    sum_forward<Best>(team, s, stop, starts, ends);

    // Segments that end at the last position complete a structure.
    double best = largest(team, s.labels, [&](int k) { return ends[s.at(stop, k)]; });
    __syncthreads();
    for (int k = threadIdx.x; k < s.labels; k += blockDim.x) ends[s.at(stop, k)] = best;
    __syncthreads();
    put_on_a_grid(team, starts, int(s.at(stop, 0)), ends, int(s.at(stop + 1, 0)));
    if (threadIdx.x == 0) shared[b] = sum + ends[s.at(stop, 0)];

    team.rows(stop * s.labels, [&](int row, bool mine) {
        int t = row / s.labels, k = row % s.labels;
        double *out = scores + s.cells(t, k), start = starts[row];
        for (int c = team.lane(); c < s.longest + s.labels && mine; c += team.width()) {
            if (c >= s.longest)
                out[c] -= t > 0 ? start - ends[s.at(t, c - s.longest)] : 0;
            else if (t + c < stop)
                out[c] -= ends[s.at(t + c + 1, k)] - start;
        }
    });
}
