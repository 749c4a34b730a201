// Sums over segmentations and their derivatives, one block per sequence.
#pragma once

#include "cuda/segments.cuh"

namespace sparsewood {

// `slopes` (T + 1, K), the derivatives with respect to `ends`: the probability that a segment of
// label k ends there. Computed from the last position to the first; each total distributes its
// derivative by shares.
__device__ inline void sum_backward(const Team& team, const Segmentation& s, int stop,
                                    const double* starts, const double* ends, double* slopes,
                                    double* marginals) {
    for (int t = stop - 1; t >= 0; --t) {
        const double* before = ends + s.at(t, 0);
        team.rows(s.labels, [&](int k, bool mine) {
            const double* row = s.row(t, k);
            double *out = marginals + s.cells(t, k), slope = 0;
            for (int d = team.lane(); d < s.longest; d += team.width()) {
                double share = 0;
                if (t + d < stop) {
                    int64_t end = s.at(t + d + 1, k);
                    share = slopes[end] * exp(starts[s.at(t, k)] + row[d] - ends[end]);
                }
                slope += share;
                if (mine) out[d] = share;
            }
            slope = team.sum(slope);
            auto step = [&](int j) { return before[j] + row[s.longest + j]; };
            Total all(0, 1);
            if (t > 0) all = total(team, s.labels, step);
            for (int j = team.lane(); j < s.labels && mine; j += team.width())
                out[s.longest + j] = t > 0 ? slope * all.share(step(j)) : 0;
        });
        __syncthreads();
        for (int j = threadIdx.x; j < s.labels; j += blockDim.x) {
            double slope = 0;
            for (int k = 0; k < s.labels; ++k) slope += marginals[s.cells(t, k) + s.longest + j];
            slopes[s.at(t, j)] = slope;
        }
        __syncthreads();
    }
}

// The derivatives of `starts` and `ends` along `direction`, a change of the scores.
__device__ inline void rates_forward(const Team& team, const Segmentation& s, int stop,
                                     const double* direction, const double* starts,
                                     const double* ends, double* start_rates, double* end_rates) {
    for (int k = threadIdx.x; k < s.labels; k += blockDim.x) end_rates[k] = 0;
    __syncthreads();
    for (int t = 0; t < stop; ++t) {
        const double *before = ends + s.at(t, 0), *rates = end_rates + s.at(t, 0);
        team.rows(s.labels, [&](int k, bool mine) {
            const double *row = s.row(t, k), *along = direction + s.cells(t, k);
            double start = 0, end = 0;
            if (t > 0) {
                auto step = [&](int j) { return before[j] + row[s.longest + j]; };
                Total all = total(team, s.labels, step);
                for (int j = team.lane(); j < s.labels; j += team.width())
                    start += all.share(step(j)) * (rates[j] + along[s.longest + j]);
                start = team.sum(start);
            }
            for (int d = team.lane(); d < s.shorter(t + 1); d += team.width()) {
                int64_t from = s.at(t - d, k);
                double share = exp(starts[from] + s.row(t - d, k)[d] - ends[s.at(t + 1, k)]);
                double rate = d == 0 ? start : start_rates[from];
                end += share * (rate + direction[s.cells(t - d, k) + d]);
            }
            end = team.sum(end);
            if (mine && team.lane() == 0)
                start_rates[s.at(t, k)] = start, end_rates[s.at(t + 1, k)] = end;
        });
        __syncthreads();
    }
}

// The derivatives of `slopes` and, into `product`, of the marginals along the direction.
__device__ inline void rates_backward(const Team& team, const Segmentation& s, int stop,
                                      const double* direction, const double* starts,
                                      const double* ends, const double* slopes,
                                      const double* start_rates, const double* end_rates,
                                      double* slope_rates, double* product) {
    for (int t = stop - 1; t >= 0; --t) {
        const double *before = ends + s.at(t, 0), *rates = end_rates + s.at(t, 0);
        team.rows(s.labels, [&](int k, bool mine) {
            const double *row = s.row(t, k), *along = direction + s.cells(t, k);
            double *out = product + s.cells(t, k), slope = 0, slope_rate = 0;
            for (int d = team.lane(); d < s.longest; d += team.width()) {
                double rate = 0;
                if (t + d < stop) {
                    int64_t end = s.at(t + d + 1, k);
                    double share = exp(starts[s.at(t, k)] + row[d] - ends[end]);
                    double change = start_rates[s.at(t, k)] + along[d] - end_rates[end];
                    slope += share * slopes[end];
                    rate = share * (slope_rates[end] + slopes[end] * change);
                }
                slope_rate += rate;
                if (mine) out[d] = rate;
            }
            slope = team.sum(slope), slope_rate = team.sum(slope_rate);
            auto step = [&](int j) { return before[j] + row[s.longest + j]; };
            Total all(0, 1);
            if (t > 0) all = total(team, s.labels, step);
            for (int j = team.lane(); j < s.labels && mine; j += team.width()) {
                double change = rates[j] + along[s.longest + j] - start_rates[s.at(t, k)];
                out[s.longest + j] = t > 0 ? all.share(step(j)) * (slope_rate + slope * change) : 0;
            }
        });
        __syncthreads();
        for (int j = threadIdx.x; j < s.labels; j += blockDim.x) {
            double rate = 0;
            for (int k = 0; k < s.labels; ++k) rate += product[s.cells(t, k) + s.longest + j];
            slope_rates[s.at(t, j)] = rate;
        }
        __syncthreads();
    }
}

// Nothing is used from position `stop` on.
__device__ inline void clear_padding(const Segmentation& s, int stop, int positions, double* out) {
    for (int64_t i = s.cells(stop, 0) + threadIdx.x; i < s.cells(positions, 0); i += blockDim.x)
        out[i] = 0;
}

}  // namespace sparsewood

// The logarithms of the sums (B,), and the marginals with the shape of the scores (B, T, K, D + K).
extern "C" __global__ void segment_sums(const double* scores, const int64_t* lengths,
                                        int64_t positions, int64_t labels, int64_t longest,
                                        int64_t width, double* starts, double* ends, double* slopes,
                                        double* log_sums, double* marginals) {
    using namespace sparsewood;
    int64_t b = blockIdx.x, rows = positions * labels, cells = rows * (longest + labels);
    starts += b * rows, ends += b * (rows + labels), slopes += b * (rows + labels);
    marginals += b * cells;
    Segmentation s{scores + b * cells, int(labels), int(longest)};
    Team team(width);
    int stop = int(lengths[b]);
    sum_forward<Sum>(team, s, stop, starts, ends);
    auto end = [&](int k) { return ends[s.at(stop, k)]; };
    Total all = total(team, s.labels, end);
    if (threadIdx.x == 0) log_sums[b] = all.log();
    for (int k = threadIdx.x; k < s.labels; k += blockDim.x)
        slopes[s.at(stop, k)] = all.share(end(k));
    clear_padding(s, stop, int(positions), marginals);
    __syncthreads();
    sum_backward(team, s, stop, starts, ends, slopes, marginals);
}

// The second derivative of the log-sums times `direction`, with the shape of the scores: the
// directional derivative of the marginals. `starts`, `ends` and `slopes` are from `segment_sums`.
extern "C" __global__ void segment_hessian(const double* scores, const double* direction,
                                           const int64_t* lengths, int64_t positions,
                                           int64_t labels, int64_t longest, int64_t width,
                                           const double* starts, const double* ends,
                                           const double* slopes, double* start_rates,
                                           double* end_rates, double* slope_rates,
                                           double* product) {
    using namespace sparsewood;
    int64_t b = blockIdx.x, rows = positions * labels, cells = rows * (longest + labels);
    starts += b * rows, start_rates += b * rows;
    ends += b * (rows + labels), end_rates += b * (rows + labels);
    slopes += b * (rows + labels), slope_rates += b * (rows + labels);
    direction += b * cells, product += b * cells;
    Segmentation s{scores + b * cells, int(labels), int(longest)};
    Team team(width);
    int stop = int(lengths[b]);
    rates_forward(team, s, stop, direction, starts, ends, start_rates, end_rates);
    double mean = 0;
    for (int k = team.lane(); k < s.labels; k += team.width())
        mean += slopes[s.at(stop, k)] * end_rates[s.at(stop, k)];
    mean = team.sum(mean);
    for (int k = threadIdx.x; k < s.labels; k += blockDim.x)
        slope_rates[s.at(stop, k)] = slopes[s.at(stop, k)] * (end_rates[s.at(stop, k)] - mean);
    clear_padding(s, stop, int(positions), product);
    __syncthreads();
    rates_backward(team, s, stop, direction, starts, ends, slopes, start_rates, end_rates,
                   slope_rates, product);
}
