// The facets of non-projective dependency trees: at least one arc enters each set of words
// (Edmonds 1967, "Optimum branchings"). With one root child exactly one enters all words.
//
// Of the exponentially many the pool begins with those that the oracle contracts when it prices the
// solution: where the marginals are on their face, such a set is entered once by each structure
// (complementary slackness). The others are found by cuts that are too small.
#pragma once

#include <set>

#include "facets.h"
#include "labelled_trees.h"
#include "min_cut.h"

namespace sparsewood {

template <bool SingleRoot>
class TreeCuts {
  public:
    static constexpr bool kKnown = true;
    static constexpr bool kEmpty = false;

    bool separate(Pool& pool) {
        MinCut graph(words_ + 1);
        for (int c = 0; c < pool.count(); ++c)
            if (double r = pool.residual[static_cast<size_t>(c)]; r > 0)
                graph.add(head(pool, c), word(pool, c), r);
        size_t before = pool.facets.size();
        graph.each_below(pool.mass, 4 * Pool::kZero, [&](const std::vector<char>& inside) {
            Bits set = no_bits(inside.size());
            for (size_t v = 0; v < inside.size(); ++v)
                if (inside[v]) set_bit(set, static_cast<int>(v));
            add(pool, set);
        });
        return pool.facets.size() > before;
    }

  protected:
    // In a table of rows of heads, each with so many labels.
    template <class Family>
    void begin(Family& family, int labels, const Arborescence& memory,
               const ActiveSet<Family>& set, Pool& pool) {
        words_ = family.slots;
        width_ = family.width;
        labels_ = labels;
        if (SingleRoot) add(pool, Bits(no_bits(static_cast<size_t>(words_) + 1).size(), ~uint64_t{1}));
        std::vector<double> reduced(static_cast<size_t>(cells(family)), kForbidden);
        for (int c = 0; c < pool.count(); ++c) {
            size_t at = static_cast<size_t>(pool.live[static_cast<size_t>(c)]);
            reduced[at] = set.theta[at] - pool.residual[static_cast<size_t>(c)];
        }
        std::vector<int16_t> code(static_cast<size_t>(set.codes.stride));
        if (!family(Thread{}, reduced.data(), code.data())) return;
        add_contracted(memory, pool);
    }

  private:
    int words_, width_, labels_;
    std::set<Bits> known_;  // sets of words

    int word(const Pool& pool, int c) const {
        return pool.live[static_cast<size_t>(c)] / width_ + 1;
    }
    int head(const Pool& pool, int c) const {
        return pool.live[static_cast<size_t>(c)] % width_ / labels_;
    }

    bool add(Pool& pool, const Bits& set) {
        if (!known_.insert(set).second) return false;
        pool.add(-1, 1, [&](int c) {
            return has_bit(set, word(pool, c)) && !has_bit(set, head(pool, c));
        });
        return true;
    }

    // The sets that the oracle contracted in its last call, where they are tight.
    void add_contracted(const Arborescence& memory, Pool& pool) {
        int last = 0;
        for (int v = 0; v <= words_; ++v) last = std::max<int>(last, memory.node_of[v]);
        std::vector<Bits> sets(static_cast<size_t>(last) + 1, no_bits(static_cast<size_t>(words_) + 1));
        for (int v = 1; v <= words_; ++v) set_bit(sets[static_cast<size_t>(v)], v);
        for (int node = words_ + 1; node <= last; ++node) {
            Bits& to = sets[static_cast<size_t>(node)];
            for (int member = memory.child[node]; member != 0; member = memory.sibling[member])
                for (size_t i = 0; i < to.size(); ++i) to[i] |= sets[static_cast<size_t>(member)][i];
            if (add(pool, to) && pool.slack(pool.facets.back()) > Pool::kZero) {
                known_.erase(to);
                pool.facets.pop_back();
            }
        }
    }
};

template <bool SingleRoot>
struct Facets<Trees<false, SingleRoot>> : TreeCuts<SingleRoot> {
    using Family = Trees<false, SingleRoot>;
    void begin(Family& family, const ActiveSet<Family>& set, Pool& pool) {
        TreeCuts<SingleRoot>::begin(family, 1, family, set, pool);
    }
};

template <bool SingleRoot>
struct Facets<LabelledTrees<false, SingleRoot>> : TreeCuts<SingleRoot> {
    using Family = LabelledTrees<false, SingleRoot>;
    void begin(Family& family, const ActiveSet<Family>& set, Pool& pool) {
        TreeCuts<SingleRoot>::begin(family, family.labels, family.trees, set, pool);
    }
};

}  // namespace sparsewood
