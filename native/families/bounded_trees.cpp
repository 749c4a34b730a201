#include "bounded_trees.h"

#include "registry.h"

namespace sparsewood {

// options: single_root, the most children of a word
SPARSEWOOD_FAMILY(bounded_trees, BoundedTrees<false>, BoundedTrees<true>)

}  // namespace sparsewood
