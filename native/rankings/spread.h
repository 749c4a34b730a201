// A point of the permutahedron as a mean of at most n rankings.
//
// Let u be sorted, with v = 1, 2, ..., n, and p(P) the means of v over the blocks of a partition P
// into runs of adjacent entries. A chain of ever coarser partitions has u = sum_k w_k p(P_k) with
// w >= 0: while a number tau rises from 0 to 1, subtract d tau p(P) from u, and merge two blocks as
// soon as they are level (Yasutake et al. 2011, "Online linear optimization over permutations",
// section 4). As p(P) is the mean of v and of the ranking that reverses v in each block of P,
//
//     u = 1/2 v + 1/2 sum_k w_k r(P_k)
//
// and r of the finest partition is v. The rankings are affinely independent, since each merge turns
// p in a new direction. The difference of two adjacent blocks shrinks in proportion to the distance
// of their mean ranks, so a heap has the next merge, O(n log n) in all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <vector>

#include "group/interrupt.h"

namespace sparsewood {

class Spread {
  public:
    // u: (n) nondecreasing, a point of the permutahedron of the ranks 1 to n. pools: (n) the first
    // entry of the pool of each, as in pools.h; only entries of one pool are merged. Writes
    // rankings (*, n) and their weights, at most n less the pools plus one; returns their number.
    int64_t operator()(const double* u, const int64_t* pools, int64_t n, int64_t* rankings,
                       double* weights) {
        find_merges(u, pools, n);
        for (int64_t i = 0; i < n; ++i) rankings[i] = i + 1;
        double from = merges_.empty() ? 1 : std::min(merges_[0].tau, 1.0);
        weights[0] = 0.5 + 0.5 * from;
        int64_t found = 1;
        for (size_t m = 0; m < merges_.size() && from < 1 - kNothing;) {
            poll();
            int64_t* ranking = rankings + found * n;
            std::copy(ranking - n, ranking, ranking);
            for (; m < merges_.size() && merges_[m].tau <= from + kNothing; ++m)
                for (int64_t i = merges_[m].begin; i < merges_[m].end; ++i)
                    ranking[i] = merges_[m].begin + merges_[m].end - i;
            double next = m < merges_.size() ? std::min(merges_[m].tau, 1.0) : 1.0;
            weights[found++] = 0.5 * (next - from);
            from = next;
        }
        return found;
    }

  private:
    static constexpr double kNothing = 1e-13;  // a smaller weight is rounding

    struct Merge {
        double tau;
        int64_t begin, end;  // the new block
    };
    // Between two blocks: their difference at `tau`, and the entries where they begin and end.
    struct Border {
        double gap, tau;
        int64_t begin, end, version;
    };
    struct Due {
        double tau;
        int64_t border, version;
        bool operator<(const Due& other) const {  // the earliest on top, ties by place
            return tau > other.tau || (tau == other.tau && border > other.border);
        }
    };

    std::vector<Border> borders_;  // number i is between the entries i and i + 1
    std::vector<Merge> merges_;    // in order
    std::priority_queue<Due> due_;

    // The merges in order of tau; those after 1 as well.
    void find_merges(const double* u, const int64_t* pools, int64_t n) {
        merges_.clear();
        borders_.resize(static_cast<size_t>(n));
        for (int64_t i = 0; i + 1 < n; ++i) {
            if (pools[i + 1] != pools[i]) continue;
            borders_[size_t(i)] = {std::max(u[i + 1] - u[i], 0.0), 0, i, i + 2, 0};
            push(i);
        }
        while (!due_.empty()) {
            Due next = due_.top();
            due_.pop();
            const Border border = borders_[size_t(next.border)];
            if (border.version != next.version) continue;  // a neighbour has changed
            poll();
            merges_.push_back({next.tau, border.begin, border.end});
            borders_[size_t(next.border)].version = -1;
            int64_t left = border.begin - 1, right = border.end - 1;
            if (left >= 0 && pools[left] == pools[left + 1])
                widen(left, next.tau, borders_[size_t(left)].begin, border.end);
            if (right + 1 < n && pools[right + 1] == pools[right])
                widen(right, next.tau, border.begin, borders_[size_t(right)].end);
        }
    }

    // How fast the gap shrinks: the distance of the mean ranks of the two blocks.
    static double rate(const Border& border) {
        return 0.5 * static_cast<double>(border.end - border.begin);
    }

    void push(int64_t i) {
        const Border& border = borders_[size_t(i)];
        due_.push({border.tau + border.gap / rate(border), i, border.version});
    }

    // One of the blocks of a border has grown.
    void widen(int64_t i, double tau, int64_t begin, int64_t end) {
        Border& border = borders_[size_t(i)];
        border.gap = std::max(border.gap - (tau - border.tau) * rate(border), 0.0);
        border = {border.gap, tau, begin, end, border.version + 1};
        push(i);
    }
};

}  // namespace sparsewood
