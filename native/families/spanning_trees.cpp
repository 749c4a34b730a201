#include "spanning_trees.h"

#include "registry.h"

namespace sparsewood {

// options: none
SPARSEWOOD_FAMILY(spanning_trees, SpanningTrees)

}  // namespace sparsewood
