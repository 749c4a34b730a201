#include "families/binary_trees.h"

#include "solver/registry.h"

namespace sparsewood {

// options: labelled
SPARSEWOOD_FAMILY(binary_trees, BinaryTrees)

}  // namespace sparsewood
