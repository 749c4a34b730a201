// The facets of non-projective dependency trees: at least one arc enters each set of words
// (Edmonds 1967, "Optimum branchings"). With one root child exactly one enters all words.
//
// The pool begins with the sets that the oracle contracts when it prices the solution: by
// complementary slackness each structure of the face enters such a set once. Other violated sets
// are found by minimum cuts.
#pragma once

#include <set>

#include "canonical/facets.h"
#include "canonical/min_cut.h"
#include "families/labelled_trees.h"

namespace sparsewood {

template <bool SingleRoot>
class TreeCuts : public AllPenalised {
  public:
    static constexpr bool kKnown = true;
    static constexpr bool kEmpty = false;

    bool separate(Pool& pool) {
        if (!graph_.ready()) {
            for (int c = 0; c < pool.count(); ++c) graph_.add(head(pool, c), word(pool, c));
            graph_.prepare(words_ + 1);
        }
        size_t before = pool.facets.size();
        graph_.each_below(pool.residual, pool.mass - Pool::kViolated,
                          [&](const List<int>& nodes) {
                              Bits set = no_bits(words_ + 1);
                              for (int v : nodes) set_bit(set, v);
                              add(pool, set);
                          });
        return pool.facets.size() > before;
    }

  protected:
    // For a table with rows of heads, each with `labels` labels.
    template <class Family>
    void begin(Family& family, int labels, const ChuLiuEdmonds& memory, const double* theta,
               Pool& pool) {
        words_ = family.slots;
        width_ = family.width;
        labels_ = labels;
        if (SingleRoot) {
            Bits all = no_bits(words_ + 1);
            for (int v = 1; v <= words_; ++v) set_bit(all, v);
            add(pool, all);
        }
        List<double> reduced(cells(family), kForbidden);
        for (int c = 0; c < pool.count(); ++c)
            reduced[pool.live[c]] = theta[pool.live[c]] - pool.residual[c];
        List<int16_t> code(family.slots);
        if (!family(Thread{}, reduced.data(), code.data())) return;
        add_contracted(memory, pool);
    }

  private:
    int words_, width_, labels_;
    MinCut graph_;          // of the arcs with mass
    std::set<Bits> known_;  // sets of words

    int word(const Pool& pool, int c) const { return pool.live[c] / width_ + 1; }
    int head(const Pool& pool, int c) const { return pool.live[c] % width_ / labels_; }

    bool add(Pool& pool, const Bits& set) {
        if (!known_.insert(set).second) return false;
        pool.add(-1, 1, [&](int c) {
            return has_bit(set, word(pool, c)) && !has_bit(set, head(pool, c));
        });
        return true;
    }

    // Adds the tight sets among those that the oracle contracted in its last call.
    void add_contracted(const ChuLiuEdmonds& memory, Pool& pool) {
        List<Bits> sets(memory.nodes, no_bits(words_ + 1));
        for (int v = 1; v <= words_; ++v) set_bit(sets[v], v);
        for (int node = words_ + 1; node < memory.nodes; ++node) {
            Bits& to = sets[node];
            const int32_t* begin = memory.begin + (node - words_ - 1);
            for (int m = begin[0]; m < begin[1]; ++m)
                for (size_t i = 0; i < to.size(); ++i) to[i] |= sets[memory.members[m]][i];
            if (add(pool, to) && !pool.keep_if_tight()) known_.erase(to);
        }
    }
};

template <bool SingleRoot>
struct Facets<Trees<false, SingleRoot>> : TreeCuts<SingleRoot> {
    using Family = Trees<false, SingleRoot>;
    void begin(Family& family, const double* theta, Pool& pool) {
        TreeCuts<SingleRoot>::begin(family, 1, family, theta, pool);
    }
};

template <bool SingleRoot>
struct Facets<LabelledTrees<false, SingleRoot>> : TreeCuts<SingleRoot> {
    using Family = LabelledTrees<false, SingleRoot>;
    void begin(Family& family, const double* theta, Pool& pool) {
        TreeCuts<SingleRoot>::begin(family, family.labels, family.trees, theta, pool);
    }
};

}  // namespace sparsewood
