#include "families/bounded_trees.h"

#include "solver/registry.h"

namespace sparsewood {

// options: single_root, the most children of a word
static Layout layout_of_bounded_trees(Sides n, const Whole&) {
    return {{n[0], n[0] + 1}, 1, n[0] + 1};
}

SPARSEWOOD_FAMILY(bounded_trees, 2, BoundedTrees<false>, BoundedTrees<true>)

}  // namespace sparsewood
