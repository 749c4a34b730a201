#include "families/labelled_trees.h"

#include "solver/registry.h"

namespace sparsewood {

// options: projective, single_root
SPARSEWOOD_FAMILY(labelled_trees, LabelledTrees<false, false>, LabelledTrees<false, true>,
                  LabelledTrees<true, false>, LabelledTrees<true, true>)

}  // namespace sparsewood
