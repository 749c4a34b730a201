// Isotonic regression by pool-adjacent-violators (Best & Chakravarti 1990).
#pragma once

#include <cstdint>
#include <vector>

namespace sparsewood {

// The nearest nondecreasing sequence to x (n) is constant on pools of adjacent entries, where it is
// their mean. Writes to pools[i] the first entry of the pool of entry i. O(n).
class Pools {
  public:
    void operator()(const double* x, int64_t n, int64_t* pools) {
        stack_.clear();
        for (int64_t i = 0; i < n; ++i) {
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

}  // namespace sparsewood
