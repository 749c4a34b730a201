// Projective dependency trees with a maximum number of children per word.
#pragma once

#include "families/bounded_eisner.h"
#include "families/trees.h"

namespace sparsewood {

template <bool SingleRoot>
struct BoundedTrees : TreeSlots, TreeOracle<true, SingleRoot> {
    using Unbounded = TreeOracle<true, SingleRoot>;
    BoundedEisner bounded;
    int most;           // maximum children of a word; the root may have more
    int16_t* children;  // (n + 1) how many each word has

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        Unbounded::lay_out(arena, slots);
        bounded.lay_out(arena, slots, most);
        children = arena.take<int16_t>(width);
    }

    // If the best tree without the bound satisfies it, it is the answer, at a fraction of the cost.
    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* scores, int16_t* tree) {
        if (!Unbounded::operator()(g, scores, tree)) return false;
        bool kept = g.leader() && keeps_bound(tree);
        if (g.sum(kept) != 0) return true;
        return bounded.template argmax<SingleRoot>(g, scores, tree);
    }

    SPARSEWOOD_HD double cross(const double* scores, int16_t* a, const int16_t* b) const {
        auto fits = [&](int word, int head) {
            return (head == 0 || count_children(a, head) < most) && this->fits(a, word, head);
        };
        return mix_trees<SingleRoot>(slots, a, b, score_of_heads(scores, slots), fits);
    }

    // options: single_root, maximum children of a word
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape, const int64_t* options) {
        TreeSlots::set_size(size, shape, options);
        int64_t others = size[0] > 1 ? size[0] - 1 : 1;
        most = static_cast<int>(options[1] < others ? options[1] : others);
    }

  private:
    SPARSEWOOD_HD int count_children(const int16_t* tree, int head) const {
        int count = 0;
        for (int i = 0; i < slots; ++i) count += tree[i] == head;
        return count;
    }

    SPARSEWOOD_HD bool keeps_bound(const int16_t* tree) const {
        for (int w = 0; w < width; ++w) children[w] = 0;
        for (int i = 0; i < slots; ++i)
            if (++children[tree[i]] > most && tree[i] != 0) return false;
        return true;
    }
};

}  // namespace sparsewood
