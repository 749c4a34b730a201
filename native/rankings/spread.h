// A point of the permutahedron as a mean of at most n rankings.
//
// A *block* holds items that share an interval of as many ranks, and a point y of the permutahedron
// of these. From y move away from the ranking that sorts y, until a facet stops the move: some k
// items then share the k lowest ranks, so that the block splits into two. That ranking gets the
// share t / (1 + t) of the weight that is left, for a step of length t, and the two blocks the rest.
//
// All blocks are driven by one number in [0, 1): below a block's own threshold its items are ranked
// as they were sorted, above by the two blocks that it splits into. So the weights are the distances
// of neighbouring thresholds, of which there are at most n - 1, and the rankings are affinely
// independent: each but the last lies off a facet that holds all later ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "group/interrupt.h"

namespace sparsewood {

class Spread {
  public:
    // u: (n) nondecreasing, a point of the permutahedron of the ranks 1 to n. pools: (n) the first
    // entry of the block of each, as in pools.h. Writes rankings (*, n) and their weights, as many
    // as there are entries less pools, plus one, at most; returns their number.
    int64_t operator()(const double* u, const int64_t* pools, int64_t n, int64_t* rankings,
                       double* weights) {
        split(u, pools, n);
        std::stable_sort(events_.begin(), events_.end(),
                         [](const Event& a, const Event& b) { return a.from < b.from; });
        int64_t found = 0;
        for (size_t e = 0; e < events_.size(); ++found) {
            poll();
            int64_t* ranking = rankings + found * n;
            if (found > 0) std::copy(ranking - n, ranking, ranking);
            double from = e == 0 ? 0 : events_[e].from;
            for (; e < events_.size() && events_[e].from <= from + kNothing; ++e)
                for (size_t i = 0; i < events_[e].items.size(); ++i)
                    ranking[events_[e].items[i]] = events_[e].lowest + static_cast<int64_t>(i);
            weights[found] = (e < events_.size() ? events_[e].from : 1) - from;
        }
        return found;
    }

  private:
    static constexpr double kNothing = 1e-13;   // a smaller weight is rounding
    static constexpr double kRounding = 1e-12;  // of a step, relative

    struct Block {
        int64_t begin, end;  // of its items in item_; their ranks are begin + 1 to end
        double from;         // the number above which it exists
    };
    // From a number on, these items have the ranks `lowest`, `lowest + 1`, ...
    struct Event {
        double from;
        int64_t lowest;
        std::vector<int64_t> items;
    };

    std::vector<double> y_, move_, at_;  // by place: the point, the direction, a point on the way
    std::vector<int64_t> item_, order_;
    std::vector<Block> blocks_;
    std::vector<Event> events_;

    void split(const double* u, const int64_t* pools, int64_t n) {
        y_.assign(u, u + n);
        item_.resize(static_cast<size_t>(n));
        std::iota(item_.begin(), item_.end(), int64_t{0});
        move_.resize(y_.size());
        at_.resize(y_.size());
        events_.clear();
        blocks_.clear();
        for (int64_t begin = 0, end; begin < n; begin = end) {
            for (end = begin + 1; end < n && pools[end] == begin;) ++end;
            blocks_.push_back({begin, end, 0});
        }
        while (!blocks_.empty()) {
            poll();
            Block block = blocks_.back();
            blocks_.pop_back();
            arrange(block, y_);
            auto first = item_.begin() + block.begin, last = item_.begin() + block.end;
            events_.push_back({block.from, block.begin + 1, {first, last}});
            if (block.end - block.begin > 1) cut(block);
        }
    }

    // Sorts the items of a block, and with them y, by `key`.
    void arrange(const Block& block, const std::vector<double>& key) {
        order_.resize(static_cast<size_t>(block.end - block.begin));
        std::iota(order_.begin(), order_.end(), block.begin);
        std::sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) {
            double left = key[size_t(a)], right = key[size_t(b)];
            return left < right || (left == right && item_[size_t(a)] < item_[size_t(b)]);
        });
        permute(y_, block.begin);
        permute(move_, block.begin);
        permute(item_, block.begin);
    }

    template <class T>
    void permute(std::vector<T>& table, int64_t begin) const {
        std::vector<T> sorted(order_.size());
        for (size_t i = 0; i < sorted.size(); ++i) sorted[i] = table[size_t(order_[i])];
        std::copy(sorted.begin(), sorted.end(), table.begin() + begin);
    }

    // Splits a sorted block where the move away from its ranking ends, if any weight is left there.
    void cut(const Block& block) {
        double t = std::numeric_limits<double>::infinity();
        for (int64_t p = block.begin; p < block.end; ++p) {
            double d = move_[size_t(p)] = y_[size_t(p)] - static_cast<double>(p + 1);
            double room = d < 0 ? y_[size_t(p)] - static_cast<double>(block.begin + 1)
                                : static_cast<double>(block.end) - y_[size_t(p)];
            if (d != 0) t = std::min(t, std::max(room, 0.0) / std::fabs(d));
        }
        if (!((1 - block.from) / (1 + t) > kNothing)) return;
        // The facet of the items that are lowest at too long a step gives a shorter one (Newton).
        int64_t middle = 0;
        for (;;) {
            double shorter = t;
            int64_t place = tightest(block, t, shorter);
            bool violated = shorter < t * (1 - kRounding);
            if (middle == 0 || violated) middle = place;
            if (!violated) break;
            t = shorter;
        }
        double rest = (1 - block.from) / (1 + t);
        if (!(rest > kNothing)) return;
        for (int64_t p = block.begin; p < block.end; ++p) y_[size_t(p)] += t * move_[size_t(p)];
        arrange(block, y_);
        for (Block part : {Block{block.begin, middle, 1 - rest}, Block{middle, block.end, 1 - rest}}) {
            double excess = 0;
            for (int64_t p = part.begin; p < part.end; ++p)
                excess += y_[size_t(p)] - static_cast<double>(p + 1);
            excess /= static_cast<double>(part.end - part.begin);
            for (int64_t p = part.begin; p < part.end; ++p) y_[size_t(p)] -= excess;
            blocks_.push_back(part);
        }
    }

    // Sorts a block by the point at step t. Returns the place at which the sum of the items before
    // it is least compared to their ranks, and the step at which that facet is reached, if shorter.
    int64_t tightest(const Block& block, double t, double& shorter) {
        for (int64_t p = block.begin; p < block.end; ++p)
            at_[size_t(p)] = y_[size_t(p)] + t * move_[size_t(p)];
        arrange(block, at_);
        double here = 0, start = 0, least = std::numeric_limits<double>::infinity();
        int64_t place = block.begin + 1;
        for (int64_t p = block.begin; p + 1 < block.end; ++p) {
            double y = y_[size_t(p)] - static_cast<double>(p + 1);
            start += y;
            here += y + t * move_[size_t(p)];
            if (here >= least) continue;
            least = here;
            place = p + 1;
            shorter = start > here ? t * std::max(start, 0.0) / (start - here) : t;
        }
        return place;
    }
};

}  // namespace sparsewood
