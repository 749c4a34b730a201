// The k best structures of a family whose best exchanges are known for all slots by one pass (Murty
// 1968, "An algorithm for ranking all the assignments in order of increasing cost"; Lawler 1972).
//
// A known structure is the best of a set. All others of the set are partitioned into pieces by the
// first of its places that they change; the best one of a piece is an exchange away from it. The
// best of the pieces holds the next structure, which again partitions its piece. Of the pieces only
// as many are kept as structures are still asked for, and the worst of them bounds the exchanges
// that are looked for.
//
// ExchangesOf<Family>, with kKnown = true, has
//
// - ExchangesOf(family, table)
// - Known: a structure, and the set of which it is the best
// - first(known): the best structure of all; false if there is none
// - total(known): its score
// - write(known, code)
// - each(known, limit, see): calls see(drop, at), which returns a new limit, for the pieces: how
//   much less than the known one the best structure that changes place `at` first scores. Those
//   that lose `limit` or more may be left out.
// - exchange(known, at): that structure
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "families/family.h"

namespace sparsewood {

template <class Family>
struct ExchangesOf {
    static constexpr bool kKnown = false;
};

template <class Family>
class BestExchanges {
  public:
    BestExchanges(Family& family, const double* table, int64_t k)
        : exchanges_(family, table), most_(static_cast<size_t>(k)) {}

    // The number of passes over the slots.
    int64_t calls() const { return static_cast<int64_t>(known_.size()); }

    // The next best structure; false if there is none left.
    bool next(std::vector<int16_t>& code) {
        poll();
        Known found;
        if (known_.empty()) {
            if (!exchanges_.first(found)) return false;
        } else {
            split(known_.size() - 1);
            if (pieces_.empty()) return false;
            Piece piece = *pieces_.begin();
            pieces_.erase(pieces_.begin());
            found = exchanges_.exchange(known_[piece.from], piece.at);
        }
        exchanges_.write(found, code);
        known_.push_back(std::move(found));
        return true;
    }

  private:
    using Exchanges = ExchangesOf<Family>;
    using Known = typename Exchanges::Known;

    struct Piece {
        double score;  // of its best structure
        size_t from;   // the known structure
        int at;        // the place that is changed

        bool operator<(const Piece& other) const {  // ties go to what was found first
            if (score != other.score) return score > other.score;
            return from != other.from ? from < other.from : at < other.at;
        }
    };

    Exchanges exchanges_;
    size_t most_;
    std::vector<Known> known_;
    std::set<Piece> pieces_;

    void split(size_t from) {
        size_t wanted = most_ - known_.size();
        double score = exchanges_.total(known_[from]);
        auto limit = [&] {
            return pieces_.size() < wanted ? -kForbidden : score - pieces_.rbegin()->score;
        };
        while (pieces_.size() > wanted) pieces_.erase(std::prev(pieces_.end()));
        exchanges_.each(known_[from], limit(), [&](double drop, int at) {
            pieces_.insert({score - drop, from, at});
            if (pieces_.size() > wanted) pieces_.erase(std::prev(pieces_.end()));
            return limit();
        });
    }
};

}  // namespace sparsewood
