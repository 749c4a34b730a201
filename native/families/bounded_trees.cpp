#include "families/bounded_trees.h"

#include "solver/registry.h"

namespace sparsewood {

// options: single_root, the most children of a word
SPARSEWOOD_FAMILY(bounded_trees, BoundedTrees<false>, BoundedTrees<true>)

}  // namespace sparsewood
