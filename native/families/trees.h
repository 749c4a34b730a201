// The four families of dependency trees behind one oracle.
//
// A tree is a code of n slots, slot i the head of word i + 1; the part (i, h) has
// index i * (n + 1) + h.
#pragma once

#include "families/chu_liu_edmonds.h"
#include "families/chu_liu_edmonds_lanes.h"
#include "families/eisner.h"
#include "families/family.h"

namespace sparsewood {

// Whether `word` is in the subtree of `ancestor`.
SPARSEWOOD_HD inline bool is_below(const int16_t* tree, int word, int ancestor) {
    while (word != 0 && word != ancestor) word = tree[word - 1];
    return word != 0;
}

// Mixes tree b into tree a word by word: takes b's head if its gain more(word, head of a, head of
// b) is positive and the result is a tree, i.e. fits(word, head) for the current a. Returns the
// total gain; if it is 0, a is unchanged.
template <bool SingleRoot, class More, class Fits>
SPARSEWOOD_HD double mix_trees(int words, int16_t* a, const int16_t* b, More more, Fits fits) {
    double gain = 0;
    where_differ(a, b, words, [&](int i, int mine, int theirs) {
        double rise = more(i + 1, mine, theirs);
        if (!(rise > 0) || (SingleRoot && (mine == 0 || theirs == 0))) return;
        if (!fits(i + 1, theirs)) return;
        gain += rise;
        a[i] = static_cast<int16_t>(theirs);
    });
    return gain;
}

// The score difference of two heads; the scores of word i are in row i - 1.
SPARSEWOOD_HD inline auto score_of_heads(const double* scores, int words) {
    return [=](int word, int mine, int theirs) {
        const double* row = scores + int64_t(word - 1) * (words + 1);
        return row[theirs] - row[mine];
    };
}

template <bool Projective, bool SingleRoot>
struct TreeOracle;

template <bool SingleRoot>
struct TreeOracle<false, SingleRoot> : ChuLiuEdmonds {
    ChuLiuEdmondsLanes lanes;  // for groups with a lane per word

    SPARSEWOOD_HD void lay_out(Arena& arena, int n) {
        bool has_lanes = arena.lanes > 1 && n < ChuLiuEdmondsLanes::kMostHeads;
        words = n;
        heads = n + 1;
        if (has_lanes) lanes.lay_out(arena, n);
        if (!has_lanes || SingleRoot) ChuLiuEdmonds::lay_out(arena, n);
    }

    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* scores, int16_t* tree) {
        // If the best unconstrained tree has one root child, it is the answer, and the search
        // without root counts is several times cheaper.
        if (SingleRoot && find<false>(g, scores, tree) && has_one_root(g, tree)) return true;
        return find<SingleRoot>(g, scores, tree);
    }

#ifndef __CUDACC_RTC__
    bool best_two(const double* scores, int16_t* tree, Second& found) {
        if (!argmax<SingleRoot>(Thread{}, scores, tree)) return false;
        found = this->template second<SingleRoot>(scores, tree);
        return true;
    }
#endif

    template <class More>
    SPARSEWOOD_HD double mix(int16_t* a, const int16_t* b, More more) const {
        return mix_trees<SingleRoot>(
            words, a, b, more, [&](int word, int head) { return !is_below(a, head, word); });
    }

  private:
    template <bool One, class G>
    SPARSEWOOD_HD bool find(const G& g, const double* scores, int16_t* tree) {
        if constexpr (G::size() > 1 && !One) {
            if (heads <= ChuLiuEdmondsLanes::kMostHeads) return lanes.argmax(g, scores, tree);
        }
        return argmax<One>(g, scores, tree);
    }

    template <class G>
    SPARSEWOOD_HD bool has_one_root(const G& g, const int16_t* tree) const {
        int roots = 0;
        for (int i = g.lane(); i < words; i += g.size()) roots += tree[i] == 0;
        bool has = g.total(roots) == 1;
        g.sync();  // before the tree is overwritten
        return has;
    }
};

template <bool SingleRoot>
struct TreeOracle<true, SingleRoot> : Eisner {
    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* scores, int16_t* tree) {
        return argmax<SingleRoot>(g, scores, tree);
    }

    template <class More>
    SPARSEWOOD_HD double mix(int16_t* a, const int16_t* b, More more) const {
        return mix_trees<SingleRoot>(words, a, b, more,
                                     [&](int word, int head) { return fits(a, word, head); });
    }

  protected:
    // Whether the tree stays a projective tree when `word` moves to `head`: its arc
    // crosses no other, covers no root child, and the head is not below the word.
    SPARSEWOOD_HD bool fits(const int16_t* tree, int word, int head) const {
        int low = word < head ? word : head, high = word < head ? head : word;
        for (int w = 1; w <= words; ++w) {
            if (w == word) continue;
            int h = tree[w - 1], l = w < h ? w : h, r = w < h ? h : w;
            if ((l < low && low < r && r < high) || (low < l && l < high && high < r)) return false;
            if (h == 0 && low < w && w < high && !(SingleRoot && low == 0)) return false;
        }
        return !is_below(tree, head, word);
    }
};

// The common base of families of trees: slot i is word i + 1, with the scores of its heads as row.
struct TreeSlots {
    static constexpr bool kEmpty = false;
    static constexpr double kCross = kAlways;
    int slots, penalised, rows, width;
    int64_t padded;  // words of the caller's array

    SPARSEWOOD_HD int64_t base(int slot) const { return int64_t(slot) * width; }
    SPARSEWOOD_HD void lay_out_cross(Arena&) {}
    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        fix_row(table + base(slot), width, option);
    }

    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape, const int64_t*) {
        slots = penalised = rows = static_cast<int>(size[0]);
        width = rows + 1;
        padded = shape[0];
    }
    SPARSEWOOD_HD Row row(int r) const { return {part(r, 0), 1, r + 1, r + 2}; }
    SPARSEWOOD_HD int64_t part(int slot, int option) const { return slot * (padded + 1) + option; }
    SPARSEWOOD_HD int64_t event_size() const { return padded; }
    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        for (int64_t i = g.lane(); i < padded; i += g.size()) out[i] = i < slots ? code[i] : -1;
    }
    template <class G>
    SPARSEWOOD_HD void shift(const G& g, double* table) const {
        for (int i = g.lane(); i < slots; i += g.size()) shift_row(table + base(i), width);
    }
};

template <bool Projective, bool SingleRoot>
struct Trees : TreeSlots, TreeOracle<Projective, SingleRoot> {
    SPARSEWOOD_HD void lay_out(Arena& arena) {
        TreeOracle<Projective, SingleRoot>::lay_out(arena, slots);
    }

    SPARSEWOOD_HD double cross(const double* scores, int16_t* a, const int16_t* b) const {
        return this->mix(a, b, score_of_heads(scores, slots));
    }
};

}  // namespace sparsewood
