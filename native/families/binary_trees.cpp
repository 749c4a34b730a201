#include "../binary_trees.h"

#include "../families.h"
#include "../operations.h"

namespace sparsewood {

// options: labelled
Operations binary_trees(const Whole&) { return operations_of<BinaryTrees>(); }

}  // namespace sparsewood
