#include "../bounded_trees.h"

#include "../families.h"
#include "../operations.h"

namespace sparsewood {

// options: single_root, the most children of a word
Operations bounded_trees(const Whole& options) {
    return options.at(0) ? operations_of<BoundedTrees<true>>()
                         : operations_of<BoundedTrees<false>>();
}

}  // namespace sparsewood
