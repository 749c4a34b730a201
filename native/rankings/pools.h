// Isotonic regression by pool-adjacent-violators (Best & Chakravarti 1990).
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace sparsewood {

// The nearest nondecreasing sequence to x (n) is constant on pools of adjacent entries, where it is
// their mean. Writes to pools[i] the first entry of the pool of entry i, O(n). False if an entry of
// x is NaN or infinite.
class Pools {
  public:
    bool operator()(const double* x, int64_t n, int64_t* pools) {
        stack_.clear();
        for (int64_t i = 0; i < n; ++i) {
            if (!std::isfinite(x[i])) return false;
            Pool last{x[i], 1, i};
            while (!stack_.empty() && exceeds(stack_.back(), last)) {
                const Pool& before = stack_.back();
                last = {before.sum + last.sum, before.count + last.count, before.begin};
                stack_.pop_back();
            }
            stack_.push_back(last);
        }
        for (const Pool& pool : stack_)
            for (int64_t c = 0; c < pool.count; ++c) pools[pool.begin + c] = pool.begin;
        return true;
    }

  private:
    struct Pool {
        double sum;
        int64_t count, begin;
    };
    std::vector<Pool> stack_;

    // Whether the mean of a is above that of b.
    static bool exceeds(const Pool& a, const Pool& b) {
        return a.sum * static_cast<double>(b.count) > b.sum * static_cast<double>(a.count);
    }
};

// The projection of sorted z (n) onto the permutahedron of the ranks 1 to n, at its places in the
// unsorted order: ranks[order[i]] is the rank of z[i]. excess: z - (1, ..., n); z may be shifted.
inline void write_ranks(const double* excess, const int64_t* pools, const int64_t* order, int64_t n,
                        double* ranks) {
    for (int64_t begin = 0, end; begin < n; begin = end) {
        double sum = excess[begin];
        for (end = begin + 1; end < n && pools[end] == begin; ++end) sum += excess[end];
        double mean = sum / static_cast<double>(end - begin);
        for (int64_t i = begin; i < end; ++i)
            ranks[order[i]] = static_cast<double>(i + 1) + (excess[i] - mean);
    }
}

// The derivative of write_ranks() by z: x (n) less its mean over each pool, times `scale`; x and
// the result are in the unsorted order.
inline void centre(const double* x, const int64_t* pools, const int64_t* order, int64_t n,
                   double scale, double* out) {
    for (int64_t begin = 0, end; begin < n; begin = end) {
        double sum = x[order[begin]];
        for (end = begin + 1; end < n && pools[end] == begin; ++end) sum += x[order[end]];
        double mean = sum / static_cast<double>(end - begin);
        for (int64_t i = begin; i < end; ++i) out[order[i]] = scale * (x[order[i]] - mean);
    }
}

// Writes to every entry the mean of x (n) over its pool.
inline void pool_means(const double* x, const int64_t* pools, int64_t n, double* means) {
    for (int64_t begin = 0, end; begin < n; begin = end) {
        double sum = x[begin];
        for (end = begin + 1; end < n && pools[end] == begin; ++end) sum += x[end];
        double mean = sum / static_cast<double>(end - begin);
        for (int64_t i = begin; i < end; ++i) means[i] = mean;
    }
}

}  // namespace sparsewood
