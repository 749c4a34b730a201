// Sums over the spanning trees of a sentence, one block per sentence: the elimination of
// structures/ recursions/elimination.py and its derivatives by reverse mode.
//
// It runs on weights and, if these underflow, again on their logarithms, which is accurate for all
// scores. Tables have a row per word and a column per head, the root first: (n, n + 1). With kRates
// each number is stored with the directional derivative of its logarithm.
#pragma once

#include "cuda/number_kinds.cuh"

namespace sparsewood {

// The tables of an elimination.
struct TreeTables {
    const double *scores, *direction;
    double *weights, *weight_rates;
    double *slopes, *slope_rates;        // derivatives with respect to weights
    double *inverses, *total_rates;      // (n,) 1 / total of a word at its elimination
    double *on_shares, *on_share_rates;  // (n + 1,) derivatives with respect to shares of heads
    double* tops;                        // (n,) the largest score of each word
};

template <class Number, bool kRates>
struct Elimination : TreeTables {
    Team team;
    int width;  // of a row
    int words;
    bool single_root;
    int root = -1;       // the word that must be the only child of the root
    double log_sum = 0;  // scalars are the same in all threads

    __device__ Elimination(const TreeTables& tables, const Team& team, int n, int words,
                           bool single_root)
        : TreeTables(tables), team(team), width(n + 1), words(words), single_root(single_root) {}

    template <class T>
    __device__ T* row(T* table, int word) const {
        return table + int64_t(word) * width;
    }
    __device__ bool is_open(int word) const { return single_root && word > root; }

    // Eliminates words, the last first. At the end row k holds the weights of its heads among the
    // root and the words before it; entry (i, k + 1), i < k, holds its value when k was eliminated.
    // False if the numbers underflow.
    __device__ bool eliminate() {
        weigh();
        for (int k = words - 1; k >= 0; --k) {
            const double* heads = row(weights, k);
            bool open = is_open(k) && k > 0;
            auto sum =
                Number::add_up(team, open ? k : k + 1, [&](int j) { return heads[j + open]; });
            double whole = sum.number();
            if (!Number::is_usable(whole, heads[0])) return false;
            if (is_open(k) && (k == 0 || Number::is_zero(whole))) root = k, whole = heads[0];
            double rate = 0, inverse = Number::inverse(whole);
            if constexpr (kRates) rate = total_rate(k, open, sum);
            if (threadIdx.x == 0) inverses[k] = inverse;
            if (kRates && threadIdx.x == 0) total_rates[k] = rate;
            log_sum += Number::log_of(whole);
            if (k > 0) cut_out(k, inverse, rate);
            __syncthreads();
        }
        return true;
    }

    // Divides each row by its largest weight.
    __device__ void weigh() {
        __syncthreads();
        team.rows(words, [&](int i, bool mine) {
            const double* from = row(scores, i);
            double top = or_zero(largest(team, words + 1, [&](int j) { return from[j]; }));
            for (int j = team.lane(); j <= words && mine; j += team.width()) {
                row(weights, i)[j] = Number::of_log(from[j] - top);
                if constexpr (kRates) row(weight_rates, i)[j] = row(direction, i)[j];
            }
            if (mine && team.lane() == 0) tops[i] = top;
        });
        __syncthreads();
        double sum = 0;
        for (int i = team.lane(); i < words; i += team.width()) sum += tops[i];
        log_sum = team.sum(sum);
    }

    __device__ double total_rate(int k, bool open, const typename Number::Sum& sum) const {
        const double *heads = row(weights, k), *rates = row(weight_rates, k);
        double rate = 0;
        for (int j = open + team.lane(); j <= k; j += team.width())
            rate += sum.share(heads[j]) * rates[j];
        rate = team.sum(rate);
        return k == root ? rates[0] : rate;
    }

    // Replaces steps to word k by steps to its heads. The only child of the root replaces the root.
    __device__ void cut_out(int k, double inverse, double rate) const {
        const double *heads = row(weights, k), *head_rates = row(weight_rates, k);
        team.rows(k, [&](int i, bool mine) {
            double *to = row(weights, i), *rates = row(weight_rates, i);
            if (k == root && mine && team.lane() == 0) {
                to[0] = to[k + 1];
                if constexpr (kRates) rates[0] = rates[k + 1];
            }
            double into = Number::times(to[k + 1], inverse);
            for (int j = team.lane(); j <= k && k != root && mine; j += team.width()) {
                double through = Number::times(into, heads[j]);
                double sum = Number::plus(to[j], through);
                if constexpr (kRates) {
                    double change = rates[k + 1] - rate + head_rates[j] - rates[j];
                    rates[j] += Number::ratio(through, sum) * change;
                }
                to[j] = sum;
            }
        });
    }

    // Computes the slopes of all weights, the first word first.
    __device__ void differentiate() const {
        for (int k = 0; k < words; ++k) {
            if (k == root)
                hand_over(k);
            else
                share_out(k);
            __syncthreads();
        }
    }

    // The case in which word k replaced the root.
    __device__ void hand_over(int k) const {
        for (int i = threadIdx.x; i < k; i += blockDim.x) {
            double *to = row(slopes, i), *rates = row(slope_rates, i);
            to[k + 1] = to[0], to[0] = Number::zero;
            if constexpr (kRates) rates[k + 1] = rates[0], rates[0] = 0;
        }
        for (int j = threadIdx.x; j <= k + 1; j += blockDim.x) {
            row(slopes, k)[j] = j == 0 ? inverses[k] : Number::zero;
            if constexpr (kRates) row(slope_rates, k)[j] = j == 0 ? -total_rates[k] : 0;
        }
    }

    __device__ void share_out(int k) const {
        const double *heads = row(weights, k), inverse = inverses[k];
        slopes_into(k);
        __syncthreads();
        double mean = 0, mean_rate = 0;  // expected number of words that pass through word k
        for (int j = team.lane(); j <= k; j += team.width()) {
            double share = Number::times(heads[j], inverse);
            double part = Number::plain(Number::times(share, on_shares[j]));
            mean += part;
            if constexpr (kRates) mean_rate += part * (share_rate(k, j) + on_share_rates[j]);
        }
        mean = team.sum(mean);
        if constexpr (kRates) mean_rate = team.sum(mean_rate);
        for (int j = threadIdx.x; j <= k + 1; j += blockDim.x) {
            double slope = Number::zero, rate = 0;  // of a word with itself as head
            if (j <= k) {
                bool apart = j == 0 && is_open(k);  // the root is not in the total
                double on = on_shares[j], sum = apart ? on : Number::plus_plain(on, 1 - mean);
                slope = Number::times(sum, inverse);
                if constexpr (kRates) {
                    rate = Number::ratio(on, sum) * on_share_rates[j] - total_rates[k];
                    if (!apart) rate -= mean_rate * Number::ratio(Number::of_log(0), sum);
                }
            }
            row(slopes, k)[j] = slope;
            if constexpr (kRates) row(slope_rates, k)[j] = rate;
        }
    }

    // The slopes of the weights with head k, and of the shares of its heads.
    __device__ void slopes_into(int k) const {
        const double *heads = row(weights, k), inverse = inverses[k];
        team.rows(2 * k + 1, [&](int task, bool mine) {
            bool by_word = task < k;
            int i = by_word ? task : 0, j = by_word ? 0 : task - k;
            auto term = [&](int m) {
                return by_word ? Number::times(heads[m], row(slopes, i)[m])
                               : Number::times(row(weights, m)[k + 1], row(slopes, m)[j]);
            };
            int count = by_word ? k + 1 : k;
            double sum = Number::add_up(team, count, term).number(), rate = 0;
            if constexpr (kRates) {
                for (int m = team.lane(); m < count; m += team.width())
                    rate += Number::ratio(term(m), sum) *
                            (by_word ? share_rate(k, m) + row(slope_rates, i)[m]
                                     : row(weight_rates, m)[k + 1] + row(slope_rates, m)[j]);
                rate = team.sum(rate);
            }
            if (!mine || team.lane() != 0) return;
            double& to = by_word ? row(slopes, i)[k + 1] : on_shares[j];
            to = by_word ? Number::times(sum, inverse) : sum;
            if constexpr (kRates) (by_word ? row(slope_rates, i)[k + 1] : on_share_rates[j]) = rate;
        });
    }

    // The rate of the share of head j of word k.
    __device__ double share_rate(int k, int j) const {
        return row(weight_rates, k)[j] - total_rates[k];
    }

    // Multiplies slopes by weights, which gives the marginals (n, n + 1), or their rates.
    __device__ void finish(double* out) const {
        for (int c = threadIdx.x; c < (width - 1) * width; c += blockDim.x) {
            int i = c / width;
            double result = 0;
            if (i < words && c % width <= words) {
                double weight = Number::of_log(scores[c] - tops[i]);
                result = Number::plain(Number::times(weight, slopes[c]));
                if (kRates && result > 0) result *= direction[c] + slope_rates[c];
            }
            out[c] = result;
        }
    }
};

template <class Number, bool kRates>
__device__ bool sum_trees(const TreeTables& tables, const Team& team, int n, int words,
                          bool single_root, double& log_sum, double* out) {
    Elimination<Number, kRates> trees(tables, team, n, words, single_root);
    if (!trees.eliminate()) return false;
    log_sum = trees.log_sum;
    trees.differentiate();
    trees.finish(out);
    return true;
}

}  // namespace sparsewood

// The logarithms of the sums (B,) and the marginals (B, n, n + 1). `weights` has the same size,
// `vectors` is (B, 3, n + 1).
extern "C" __global__ void tree_sums(const double* scores, const int64_t* lengths, int64_t n,
                                     int64_t single_root, int64_t width, double* weights,
                                     double* vectors, double* log_sums, double* marginals) {
    using namespace sparsewood;
    int64_t b = blockIdx.x, cells = n * (n + 1);
    weights += b * cells, marginals += b * cells, vectors += b * 3 * (n + 1);
    TreeTables tables{};
    tables.scores = scores + b * cells, tables.weights = weights, tables.slopes = marginals;
    tables.inverses = vectors, tables.on_shares = vectors + n + 1;
    tables.tops = vectors + 2 * (n + 1);
    Team team(width);
    int size = int(n), words = int(lengths[b]);
    double log_sum = 0;
    if (!sum_trees<Plain, false>(tables, team, size, words, single_root, log_sum, marginals))
        sum_trees<Logs, false>(tables, team, size, words, single_root, log_sum, marginals);
    if (threadIdx.x == 0) log_sums[b] = log_sum;
}

// The second derivative of the log-sums times `direction`, (B, n, n + 1): the
// directional derivative of the marginals. `room` is (B, 3, n, n + 1), `vectors` (B, 5, n + 1).
extern "C" __global__ void tree_hessian(const double* scores, const double* direction,
                                        const int64_t* lengths, int64_t n, int64_t single_root,
                                        int64_t width, double* room, double* vectors,
                                        double* product) {
    using namespace sparsewood;
    int64_t b = blockIdx.x, cells = n * (n + 1);
    room += b * 3 * cells, vectors += b * 5 * (n + 1), product += b * cells;
    TreeTables tables{};
    tables.scores = scores + b * cells, tables.direction = direction + b * cells;
    tables.weights = room, tables.weight_rates = room + cells;
    tables.slopes = room + 2 * cells, tables.slope_rates = product;
    tables.inverses = vectors, tables.total_rates = vectors + (n + 1);
    tables.on_shares = vectors + 2 * (n + 1), tables.on_share_rates = vectors + 3 * (n + 1);
    tables.tops = vectors + 4 * (n + 1);
    Team team(width);
    int size = int(n), words = int(lengths[b]);
    double log_sum;
    if (!sum_trees<Plain, true>(tables, team, size, words, single_root, log_sum, product))
        sum_trees<Logs, true>(tables, team, size, words, single_root, log_sum, product);
}
