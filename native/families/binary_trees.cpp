#include "../binary_trees.h"

#include "../families.h"
#include "../operations.h"

namespace spinney {

// options: labelled
Operations binary_trees(const Whole&) { return operations_of<BinaryTrees>(); }

}  // namespace spinney
