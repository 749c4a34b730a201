// Sums over the spanning trees of a sentence, one block for each: the elimination of structures/
// recursions/elimination.py on logarithms of weights, which is right for all scores, and its
// derivatives, backwards.
//
// Tables have a row for each word and a column for each head, the root first: (n, n + 1). With
// kRates each number has a rate of change beside it, as the scores change along a direction.
#pragma once

#include "team.cuh"

namespace sparsewood {

// log(exp(a) + exp(b))
__device__ inline double log_add(double a, double b) {
    double top = a > b ? a : b, rest = a > b ? b : a;
    return top + log1p(exp(rest - top));
}

// Below it an exponential is 0.
constexpr double kLowest = -700;

// log(exp(a) + x) where that is more than 0 but for rounding.
__device__ inline double log_plus(double a, double x) {
    if (a > -kLowest) return a;
    double sum = exp(a) + x;
    return sum > 0 ? log(sum) : kForbiddenScore;
}

template <bool kRates>
struct Elimination {
    Team team;
    int64_t width;  // n + 1, of a row
    int words;
    bool single_root;
    double *weights, *weight_rates;
    double *slopes, *slope_rates;    // the logarithms of the derivatives by weights
    double *totals, *total_rates;    // (n,) of each word when it was cut out
    double *on_shares, *on_share_rates;  // (n + 1,) derivatives by the shares of its heads
    int root = -1;  // the word that was found to be the one child of the root

    // What is shared by the threads is the same in each of them.
    __device__ double* row(double* table, int word) const { return table + word * width; }
    __device__ bool is_open(int word) const { return single_root && word > root; }

    // Cuts out the last word first. Row k is left with the weights of its heads among the root and
    // the words before it; entry (i, k + 1), i < k, with what it was when k was cut out.
    __device__ double eliminate() {
        double log_sum = 0;
        for (int k = words - 1; k >= 0; --k) {
            double* heads = row(weights, k);
            bool open = is_open(k);
            Total all{kForbiddenScore, 1};
            if (!open || k > 0)
                all = total(team, open ? k : k + 1, [&](int j) { return heads[j + open]; });
            double whole = all.log();
            if (open && is_empty(whole)) root = k, whole = heads[0];
            double rate = 0;
            if constexpr (kRates) rate = total_rate(k, open, all);
            if (threadIdx.x == 0) totals[k] = whole;
            if (kRates && threadIdx.x == 0) total_rates[k] = rate;
            log_sum += whole;
            if (k > 0) cut_out(k, whole, rate);
            __syncthreads();
        }
        return log_sum;
    }

    __device__ double total_rate(int k, bool open, const Total& all) const {
        const double *heads = row(weights, k), *rates = row(weight_rates, k);
        double rate = 0;
        if (k == root) return rates[0];
        for (int j = open + team.lane(); j <= k; j += team.width())
            rate += all.share(heads[j]) * rates[j];
        return team.sum(rate);
    }

    // Who went to word k goes on to its heads. The one child of the root stands for the root.
    __device__ void cut_out(int k, double whole, double rate) const {
        const double *heads = row(weights, k), *head_rates = row(weight_rates, k);
        team.rows(k, [&](int i, bool mine) {
            double *to = row(weights, i), *rates = row(weight_rates, i);
            if (k == root && mine && team.lane() == 0) {
                to[0] = to[k + 1];
                if constexpr (kRates) rates[0] = rates[k + 1];
            }
            double into = to[k + 1] - whole;
            for (int j = team.lane(); j <= k && k != root && mine; j += team.width()) {
                double through = into + heads[j], sum = log_add(to[j], through);
                if constexpr (kRates) {
                    double change = rates[k + 1] - rate + head_rates[j] - rates[j];
                    rates[j] += exp(through - sum) * change;
                }
                to[j] = sum;
            }
        });
    }

    // The slopes of all weights, the first word first.
    __device__ void differentiate() {
        for (int k = 0; k < words; ++k) {
            if (k == root)
                hand_over(k);
            else
                share_out(k);
            __syncthreads();
        }
    }

    // Word k stood for the root.
    __device__ void hand_over(int k) const {
        for (int i = threadIdx.x; i < k; i += blockDim.x) {
            double *to = row(slopes, i), *rates = row(slope_rates, i);
            to[k + 1] = to[0], to[0] = kForbiddenScore;
            if constexpr (kRates) rates[k + 1] = rates[0], rates[0] = 0;
        }
        for (int j = threadIdx.x; j <= k + 1; j += blockDim.x) {
            row(slopes, k)[j] = j == 0 ? -totals[k] : kForbiddenScore;
            if constexpr (kRates) row(slope_rates, k)[j] = j == 0 ? -total_rates[k] : 0;
        }
    }

    __device__ void share_out(int k) const {
        const double* heads = row(weights, k);
        const double whole = totals[k];
        slopes_into(k);
        __syncthreads();
        double mean = 0, mean_rate = 0;  // of how many words word k is passed by
        for (int j = team.lane(); j <= k; j += team.width()) {
            double part = exp(heads[j] - whole + on_shares[j]);
            mean += part;
            if constexpr (kRates) mean_rate += part * (head_rate(k, j) + on_share_rates[j]);
        }
        mean = team.sum(mean);
        if constexpr (kRates) mean_rate = team.sum(mean_rate);
        for (int j = threadIdx.x; j <= k + 1; j += blockDim.x) {
            double slope = kForbiddenScore, rate = 0;  // of a word as its own head
            if (j <= k) {
                bool only = j == 0 && is_open(k);  // the root is not in the total
                double sum = only ? on_shares[j] : log_plus(on_shares[j], 1 - mean);
                slope = sum - whole;
                if (kRates && sum > kLowest) {
                    rate = exp(on_shares[j] - sum) * on_share_rates[j] - total_rates[k];
                    if (!only) rate -= exp(-sum) * mean_rate;
                }
            }
            row(slopes, k)[j] = slope;
            if constexpr (kRates) row(slope_rates, k)[j] = rate;
        }
    }

    // The slopes of the weights that led to word k, and of the shares of its heads.
    __device__ void slopes_into(int k) const {
        const double* heads = row(weights, k);
        const double whole = totals[k];
        team.rows(2 * k + 1, [&](int task, bool mine) {
            bool by_word = task < k;
            int i = by_word ? task : 0, j = by_word ? 0 : task - k;
            auto term = [&](int m) {
                return by_word ? heads[m] - whole + row(slopes, i)[m]
                               : row(weights, m)[k + 1] + row(slopes, m)[j];
            };
            int count = by_word ? k + 1 : k;
            Total all = total(team, count, term);
            double sum = count > 0 ? all.log() : kForbiddenScore, rate = 0;
            if constexpr (kRates) {
                for (int m = team.lane(); m < count; m += team.width())
                    rate += all.share(term(m)) *
                            (by_word ? head_rate(k, m) + row(slope_rates, i)[m]
                                     : row(weight_rates, m)[k + 1] + row(slope_rates, m)[j]);
                rate = team.sum(rate);
            }
            if (!mine || team.lane() != 0) return;
            (by_word ? row(slopes, i)[k + 1] : on_shares[j]) = sum;
            if constexpr (kRates) (by_word ? row(slope_rates, i)[k + 1] : on_share_rates[j]) = rate;
        });
    }

    // Of the share of head j of word k.
    __device__ double head_rate(int k, int j) const {
        return row(weight_rates, k)[j] - total_rates[k];
    }
};

}  // namespace sparsewood

// The logarithms of the sums (B,) and the marginals (B, n, n + 1). `weights` is as large, `vectors`
// (B, 2, n + 1).
extern "C" __global__ void tree_sums(const double* scores, const int64_t* lengths, int64_t n,
                                     int64_t single_root, int64_t width, double* weights,
                                     double* vectors, double* log_sums, double* marginals) {
    using namespace sparsewood;
    int64_t b = blockIdx.x, cells = n * (n + 1);
    scores += b * cells, weights += b * cells, marginals += b * cells, vectors += b * 2 * (n + 1);
    int words = int(lengths[b]);
    for (int64_t c = threadIdx.x; c < cells; c += blockDim.x) weights[c] = scores[c];
    __syncthreads();
    Elimination<false> trees{Team(width), n + 1,   words,   single_root != 0, weights,        nullptr,
                             marginals,   nullptr, vectors, nullptr,          vectors + n + 1, nullptr};
    double log_sum = trees.eliminate();
    if (threadIdx.x == 0) log_sums[b] = log_sum;
    trees.differentiate();
    for (int64_t c = threadIdx.x; c < cells; c += blockDim.x) {
        bool inside = c / (n + 1) < words && c % (n + 1) <= words;
        marginals[c] = inside ? exp(scores[c] + marginals[c]) : 0;
    }
}

// The second derivative of the log-sums times `direction`, (B, n, n + 1): the derivative of the
// marginals along it. `tables` is (B, 3, n, n + 1), `vectors` (B, 4, n + 1).
extern "C" __global__ void tree_hessian(const double* scores, const double* direction,
                                        const int64_t* lengths, int64_t n, int64_t single_root,
                                        int64_t width, double* tables, double* vectors,
                                        double* product) {
    using namespace sparsewood;
    int64_t b = blockIdx.x, cells = n * (n + 1);
    scores += b * cells, direction += b * cells, product += b * cells;
    tables += b * 3 * cells, vectors += b * 4 * (n + 1);
    double *weights = tables, *weight_rates = tables + cells, *slopes = tables + 2 * cells;
    int words = int(lengths[b]);
    for (int64_t c = threadIdx.x; c < cells; c += blockDim.x)
        weights[c] = scores[c], weight_rates[c] = direction[c];
    __syncthreads();
    Elimination<true> trees{Team(width),  n + 1,   words,
                            single_root != 0,
                            weights,      weight_rates,
                            slopes,       product,
                            vectors,      vectors + (n + 1),
                            vectors + 2 * (n + 1), vectors + 3 * (n + 1)};
    trees.eliminate();
    trees.differentiate();
    for (int64_t c = threadIdx.x; c < cells; c += blockDim.x) {
        bool inside = c / (n + 1) < words && c % (n + 1) <= words;
        double marginal = inside ? exp(scores[c] + slopes[c]) : 0;
        product[c] = marginal > 0 ? marginal * (direction[c] + product[c]) : 0;
    }
}
