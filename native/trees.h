// The four families of dependency trees behind one oracle.
//
// A tree is a code of n slots, slot i the head of word i + 1; the part (i, h) has
// index i * (n + 1) + h.
#pragma once

#include "arborescence.h"
#include "eisner.h"
#include "family.h"

namespace sparsewood {

// Whether `word` is in the subtree of `ancestor`.
SPARSEWOOD_HD inline bool is_below(const int16_t* tree, int word, int ancestor) {
    while (word != 0 && word != ancestor) word = tree[word - 1];
    return word != 0;
}

// Mixes tree b into tree a word by word wherever b's head scores higher and the result stays a
// tree: fits(word, head) says so for one word of a as it then is. Returns how much the score rose;
// 0 leaves a as it was. better: (n + 1) scratch, what the oracle does not need between its calls.
template <bool SingleRoot, class Fits>
SPARSEWOOD_HD double cross_trees(const double* scores, int words, int16_t* a, const int16_t* b,
                                 int16_t* better, Fits fits) {
    int count = 0, heads = words + 1;
    const double* row = scores;
    for (int i = 0; i < words; ++i, row += heads) {
        better[count] = static_cast<int16_t>(i);
        count += row[b[i]] > row[a[i]];
    }
    double gain = 0;
    for (int c = 0; c < count; ++c) {
        int i = better[c];
        if ((SingleRoot && (a[i] == 0 || b[i] == 0)) || !fits(i + 1, b[i])) continue;
        row = scores + int64_t(i) * heads;
        gain += row[b[i]] - row[a[i]];
        a[i] = b[i];
    }
    return gain;
}

#if defined(__GNUC__) && !defined(__CUDACC_RTC__)
// Arborescence::argmax<false> with at least 3 words, for a CPU thread.
bool argmax_wide(const Arborescence& memory, const double* scores,
                 int16_t* tree);  // arborescence.cpp
#endif

template <bool Projective, bool SingleRoot>
struct TreeOracle;

template <bool SingleRoot>
struct TreeOracle<false, SingleRoot> : Arborescence {
    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* scores, int16_t* tree) {
        // An unconstrained tree that happens to have one root child is the answer,
        // and the scan without root counts is several times cheaper.
        if (SingleRoot && best_tree(g, scores, tree)) {
            bool single = root_arcs(tree) == 1;
            g.sync();
            if (single) return true;
        }
        return SingleRoot ? argmax<true>(g, scores, tree) : best_tree(g, scores, tree);
    }

    template <class G>
    SPARSEWOOD_HD bool best_tree(const G& g, const double* scores, int16_t* tree) {
        return argmax<false>(g, scores, tree);
    }

#if defined(__GNUC__) && !defined(__CUDACC_RTC__)
    bool best_tree(const Thread& g, const double* scores, int16_t* tree) {
        return words < 3 ? argmax<false>(g, scores, tree) : argmax_wide(*this, scores, tree);
    }
#endif

    SPARSEWOOD_HD double cross(const double* scores, int16_t* a, const int16_t* b) const {
        return cross_trees<SingleRoot>(scores, words, a, b, path, [&](int word, int head) {
            return !is_below(a, head, word);
        });
    }
};

template <bool SingleRoot>
struct TreeOracle<true, SingleRoot> : Eisner {
    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* scores, int16_t* tree) {
        return argmax<SingleRoot>(g, scores, tree);
    }

    SPARSEWOOD_HD double cross(const double* scores, int16_t* a, const int16_t* b) const {
        return cross_trees<SingleRoot>(scores, words, a, b, stack,
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

// What families of trees share: slot i is word i + 1, its row in the table the scores of its heads.
struct TreeSlots {
    static constexpr bool kEmpty = false;
    static constexpr double kCross = kAlways;
    int slots, penalised, rows, width;
    int64_t padded;  // words of the caller's array

    SPARSEWOOD_HD int64_t base(int slot) const { return int64_t(slot) * width; }
    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        fix_row(table + base(slot), width, option);
    }

#ifndef __CUDACC_RTC__
    void set_size(const int64_t* size, const int64_t* shape, const int64_t*) {
        slots = penalised = rows = static_cast<int>(size[0]);
        width = rows + 1;
        padded = shape[0];
    }
    Row row(int r) const { return {part(r, 0), 1, r + 1, r + 2}; }
    int64_t part(int slot, int option) const { return slot * (padded + 1) + option; }
    int64_t event_size() const { return padded; }
    void event(const int16_t* code, int64_t* out) const {
        for (int64_t i = 0; i < padded; ++i) out[i] = i < slots ? code[i] : -1;
    }
    void shift(double* table) const {
        for (int i = 0; i < slots; ++i) shift_row(table + base(i), width);
    }
#endif
};

template <bool Projective, bool SingleRoot>
struct Trees : TreeSlots, TreeOracle<Projective, SingleRoot> {
    SPARSEWOOD_HD void lay_out(Arena& arena) {
        TreeOracle<Projective, SingleRoot>::lay_out(arena, slots);
    }
};

}  // namespace sparsewood
