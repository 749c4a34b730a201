// Segmentations, computed from left to right: see structures/recursions/semi_markov.py. A chain is
// a segmentation whose segments have length 1.
//
// A position t has for each label k a row of scores: segments of label k that start there, by
// length minus 1, and transitions to label k from each label. `starts` (T, K) are totals of
// prefixes that end where a segment of label k starts, `ends` (T + 1, K) of prefixes that end with
// a segment of label k before a position.
#pragma once

#include "cuda/team.cuh"

namespace sparsewood {

struct Segmentation {
    const double* scores;  // (T, K, D + K)
    int labels, longest;

    __device__ int64_t at(int t, int k) const { return int64_t(t) * labels + k; }
    __device__ int64_t cells(int t, int k) const { return at(t, k) * (longest + labels); }
    __device__ const double* row(int t, int k) const { return scores + cells(t, k); }
    __device__ int shorter(int t) const { return t < longest ? t : longest; }
};

struct Sum {
    template <class Term>
    static __device__ double of(const Team& team, int count, const Term& term) {
        return total(team, count, term).log();
    }
};

struct Best {
    template <class Term>
    static __device__ double of(const Team& team, int count, const Term& term) {
        return largest(team, count, term);
    }
};

// All positions up to `stop`, from left to right.
template <class Alternatives>
__device__ void sum_forward(const Team& team, const Segmentation& s, int stop, double* starts,
                            double* ends) {
    for (int k = threadIdx.x; k < s.labels; k += blockDim.x) ends[k] = 0;
    __syncthreads();
    for (int t = 0; t < stop; ++t) {
        const double* before = ends + s.at(t, 0);
        team.rows(s.labels, [&](int k, bool mine) {
            const double* moves = s.row(t, k) + s.longest;
            double start = 0;
            if (t > 0)
                start =
                    Alternatives::of(team, s.labels, [&](int j) { return before[j] + moves[j]; });
            double end = start + s.row(t, k)[0];  // the shortest segment initialises the maximum
            if (s.longest > 1)
                end = Alternatives::of(team, s.shorter(t + 1), [&](int d) {
                    return (d == 0 ? start : starts[s.at(t - d, k)]) + s.row(t - d, k)[d];
                });
            if (mine && team.lane() == 0) starts[s.at(t, k)] = start, ends[s.at(t + 1, k)] = end;
        });
        __syncthreads();
    }
}

}  // namespace sparsewood
