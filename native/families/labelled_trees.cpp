#include "families/labelled_trees.h"

#include "solver/registry.h"

namespace sparsewood {

// options: projective, single_root
static Layout layout_of_labelled_trees(Sides n, const Whole&) {
    return {{n[0], n[0] + 1, n[2]}, 1, (n[0] + 1) * n[2]};
}

SPARSEWOOD_FAMILY(labelled_trees, 2, LabelledTrees<false, false>, LabelledTrees<false, true>,
                  LabelledTrees<true, false>, LabelledTrees<true, true>)

}  // namespace sparsewood
