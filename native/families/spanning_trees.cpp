#include "families/spanning_trees.h"

#include "solver/registry.h"

namespace sparsewood {

// options: none
SPARSEWOOD_FAMILY(spanning_trees, SpanningTrees)

}  // namespace sparsewood
