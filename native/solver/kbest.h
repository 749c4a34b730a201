// The k best structures of an instance: by the chart of the family, by its best exchanges, by its
// second best structures, or by Lawler's algorithm.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "canonical/by_facets.h"
#include "group/block.h"
#include "solver/batch.h"
#include "solver/best_swaps.h"
#include "solver/chart_search.h"
#include "solver/instance.h"
#include "solver/lawler.h"
#include "solver/matching_exchanges.h"
#include "solver/tree_exchanges.h"

namespace sparsewood {

// Owns the memory of one instance at a time.
template <class Family>
class Ranker {
  public:
    explicit Ranker(Family family) : family_(std::move(family)) {}

    void rank(const Scores& scores, int64_t b, int64_t k, Ranking& out) {
        read(scores, b);
        found_.clear();
        out.calls = find(k);
        if (found_.empty()) scores.no_structure(b);
        std::sort(found_.begin(), found_.end());
        if (k > 1 && found_.size() > 1 && found_[0].total == found_[1].total) {
            put_map_first();
            ++out.calls;
        }
        out.events.reserve(found_.size() * static_cast<size_t>(family_.event_size()));
        out.parts.reserve(found_.size() * static_cast<size_t>(family_.slots));
        for (const Found& one : found_) out.append(family_, one.code.data());
    }

  private:
    struct Found {
        double total;
        std::vector<int16_t> code;

        bool operator<(const Found& other) const {  // ties go to the smaller code
            return total > other.total || (total == other.total && code < other.code);
        }
    };

    static constexpr bool kHasChart = ChartOf<Family>::kKnown;

    Family family_;
    Block memory_;
    double* table_ = nullptr;
    std::vector<Found> found_;
    std::conditional_t<kHasChart, ChartSearch<Family>, NoChartSearch> chart_;

    void read(const Scores& scores, int64_t b) {
        family_.set_size(scores.size(b), scores.shape.data(), scores.options.data());
        Arena measure{nullptr};
        lay_out(measure);
        Arena arena{memory_.reserve(measure.used)};
        lay_out(arena);
        scores.with_instance(b, [&](auto from) {
            Reading found = read_scores(Thread{}, family_, from, 1.0, table_);
            if (found.bad >= 0) scores.reject(b, found.bad, from[found.bad]);
        });
    }

    void lay_out(Arena& arena) {
        family_.lay_out(arena);
        table_ = arena.take<double>(cells(family_));
    }

    // Returns the number of oracle calls. One structure is the oracle's.
    int64_t find(int64_t k) {
        if constexpr (kHasChart) {
            if (k > 1 && chart_.begin(family_, table_, k)) return take(chart_, k);
        } else if constexpr (ExchangesOf<Family>::kKnown) {
            if (k > 1) return take(BestExchanges<Family>(family_, table_, k), k);
        } else if constexpr (HasBestTwo<Family>::value) {
            if (k > 1) return take(BestSwaps<Family>(family_, table_), k);
        }
        return take(BestFirst<Family>(family_, table_), k);
    }

    template <class Search>
    int64_t take(Search&& search, int64_t k) {
        std::vector<int16_t> code;
        while (static_cast<int64_t>(found_.size()) < k && search.next(code))
            found_.push_back({total(code), code});
        return search.calls();
    }

    double total(const std::vector<int16_t>& code) const {
        double sum = 0;
        for (int i = 0; i < family_.slots; ++i)
            sum += table_[family_.base(i) + code[static_cast<size_t>(i)]];
        return sum;
    }

    // Among equals the oracle's structure comes first, so that the best one is that of argmax().
    void put_map_first() {
        Found first{0, std::vector<int16_t>(static_cast<size_t>(family_.slots))};
        forget(family_);
        if (!family_(Thread{}, table_, first.code.data())) return;
        first.total = total(first.code);
        if (first.total < found_[0].total) return;
        auto at = std::find_if(found_.begin(), found_.end(),
                               [&](const Found& one) { return one.code == first.code; });
        if (at == found_.end()) at = std::prev(found_.end()), *at = first;
        std::rotate(found_.begin(), at, std::next(at));
    }
};

}  // namespace sparsewood
