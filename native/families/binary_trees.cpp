#include "binary_trees.h"

#include "registry.h"

namespace sparsewood {

// options: labelled
SPARSEWOOD_FAMILY(binary_trees, BinaryTrees)

}  // namespace sparsewood
