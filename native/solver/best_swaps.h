// The k best structures of a family that finds the second best of a set along with the best
// (`best_two` in families/family.h): Hamacher & Queyranne 1985, "K best solutions to combinatorial
// optimization problems"; for arborescences Camerini, Fratta & Maffioli 1980.
//
// A piece is a set of structures whose best is known, with the score of its second best and a slot
// in which the two differ. The piece with the highest such score is split at that slot: structures
// with the best one's option in it, which thus remains the best, and all others, whose best is the
// next structure. Both are asked for their second best: two calls per structure, whatever the
// number of slots.
#pragma once

#include <queue>
#include <type_traits>
#include <utility>
#include <vector>

#include "families/family.h"

namespace sparsewood {

template <class Family, class = void>
struct HasBestTwo : std::false_type {};

template <class Family>
struct HasBestTwo<Family, std::void_t<decltype(&Family::best_two)>> : std::true_type {};

template <class Family>
class BestSwaps {
  public:
    BestSwaps(Family& family, const double* table)
        : family_(family), table_(table), copy_(static_cast<size_t>(cells(family))) {}

    // The number of oracle calls.
    int64_t calls() const { return calls_; }

    // The next best structure; false if there is none left.
    bool next(std::vector<int16_t>& code) {
        if (!started_) {
            started_ = true;
            return find(Piece{0, 0, kWhole, {}}, code);
        }
        if (split_.rule != kWhole) keep_rest();
        while (!pieces_.empty()) {
            Piece from = pieces_.top();
            pieces_.pop();
            int16_t option = from.code[static_cast<size_t>(from.slot)];
            split_ = from;
            split_.rule = add_rule({from.rule, from.slot, option, true});
            if (find(Piece{0, 0, add_rule({from.rule, from.slot, option, false}), {}}, code))
                return true;
            keep_rest();
        }
        return false;
    }

  private:
    static constexpr int32_t kWhole = -1;

    // A piece obeys its rule and those before it.
    struct Rule {
        int32_t before;
        int slot;
        int16_t option;
        bool fixed;  // structures have this option; else they do not
    };

    struct Piece {
        double second;  // the score of the second best
        int slot;       // where it differs from the best
        int32_t rule;
        std::vector<int16_t> code;  // the best

        bool operator<(const Piece& other) const {  // ties go to the smaller code
            return second < other.second || (second == other.second && code > other.code);
        }
    };

    Family& family_;
    const double* table_;
    std::vector<double> copy_;
    std::vector<Rule> rules_;
    std::priority_queue<Piece> pieces_;  // that have a second best
    Piece split_{0, 0, kWhole, {}};      // the half that keeps its best; not looked at yet
    bool started_ = false;
    int64_t calls_ = 0;

    int32_t add_rule(Rule rule) {
        rules_.push_back(rule);
        return static_cast<int32_t>(rules_.size() - 1);
    }

    double total(const std::vector<int16_t>& code) const {
        double sum = 0;
        for (int i = 0; i < family_.slots; ++i)
            sum += table_[family_.base(i) + code[static_cast<size_t>(i)]];
        return sum;
    }

    // The best structure of a piece, with what is known of its second best.
    bool ask(int32_t rule, std::vector<int16_t>& code, Second& second) {
        poll();
        copy_.assign(table_, table_ + cells(family_));
        for (int32_t r = rule; r != kWhole; r = rules_[static_cast<size_t>(r)].before) {
            const Rule& rule_here = rules_[static_cast<size_t>(r)];
            if (rule_here.fixed)
                family_.fix(copy_.data(), rule_here.slot, rule_here.option);
            else
                copy_[static_cast<size_t>(family_.base(rule_here.slot) + rule_here.option)] =
                    kForbidden;
        }
        ++calls_;
        code.resize(static_cast<size_t>(family_.slots));
        return family_.best_two(copy_.data(), code.data(), second);
    }

    bool find(Piece piece, std::vector<int16_t>& code) {
        Second second;
        if (!ask(piece.rule, piece.code, second)) return false;
        code = piece.code;
        keep(std::move(piece), second);
        return true;
    }

    void keep(Piece piece, Second second) {
        if (second.slot < 0) return;
        piece.second = total(piece.code) - second.drop;
        piece.slot = second.slot;
        pieces_.push(std::move(piece));
    }

    // Looks for the second best of the other half of the piece that was split last. If another
    // structure than the known one comes out as the best, the two are equal up to rounding errors.
    void keep_rest() {
        std::vector<int16_t> best;
        Second second;
        Piece piece = std::move(split_);
        split_ = Piece{0, 0, kWhole, {}};
        if (!ask(piece.rule, best, second)) return;
        if (best != piece.code) {
            second = {total(piece.code) - total(best), 0};
            while (best[static_cast<size_t>(second.slot)] ==
                   piece.code[static_cast<size_t>(second.slot)])
                ++second.slot;
        }
        keep(std::move(piece), second);
    }
};

}  // namespace sparsewood
