// Teams of adjacent lanes that process a row together, and sums of exponentials along rows.
#pragma once

#include "cuda/block.cuh"

namespace sparsewood {

// The score of forbidden parts: see structures/recursions/totals.py.
constexpr double kForbiddenScore = -1e300;

__device__ inline bool is_empty(double score) { return score < kForbiddenScore / 2; }
__device__ inline double or_zero(double score) { return is_empty(score) ? 0 : score; }

// `width` lanes, a power of two up to 32, of a block of whole warps.
class Team {
  public:
    __device__ explicit Team(int64_t width)
        : width_(static_cast<int>(width)),
          lane_(static_cast<int>(threadIdx.x) % width_),
          index_(static_cast<int>(threadIdx.x) / width_),
          count_(static_cast<int>(blockDim.x) / width_) {}

    __device__ int lane() const { return lane_; }
    __device__ int width() const { return width_; }

    // Returns the sum to every lane of the team. All lanes of the warp must call it.
    __device__ double sum(double x) const {
        for (int d = width_ / 2; d > 0; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
        return x;
    }
    __device__ double max(double x) const {
        for (int d = width_ / 2; d > 0; d /= 2) {
            double other = __shfl_xor_sync(0xffffffffu, x, d);
            x = other > x ? other : x;
        }
        return x;
    }

    // Calls work(i, mine) for the rows i < n, always the same row for the same team. A team without
    // rows left repeats the last row with mine = false, and must not write it.
    template <class Work>
    __device__ void rows(int n, const Work& work) const {
        for (int first = 0; first < n; first += count_) {
            int i = first + index_;
            work(i < n ? i : n - 1, i < n);
        }
    }

  private:
    int width_, lane_, index_, count_;
};

// The sum of exponentials of some terms, relative to the largest.
struct Total {
    double top, sum, inverse;
    __device__ Total(double top, double sum) : top(top), sum(sum), inverse(1 / sum) {}
    __device__ double log() const { return top + ::log(sum); }
    __device__ double share(double x) const { return exp(x - top) * inverse; }
};

// The largest of term(i), i < count.
template <class Term>
__device__ double largest(const Team& team, int count, const Term& term) {
    double top = kForbidden;
    for (int i = team.lane(); i < count; i += team.width()) {
        double x = term(i);
        top = x > top ? x : top;
    }
    return team.max(top);
}

// The total of term(i), i < count; NaN if a term is NaN.
template <class Term>
__device__ Total total(const Team& team, int count, const Term& term) {
    double top = largest(team, count, term), sum = 0;
    for (int i = team.lane(); i < count; i += team.width()) sum += exp(term(i) - top);
    return {top, team.sum(sum)};
}

}  // namespace sparsewood
