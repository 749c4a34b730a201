#include "families/binary_trees.h"

#include "solver/registry.h"

namespace sparsewood {

// options: labelled
static Layout layout_of_binary_trees(Sides n, const Whole& option) {
    Layout made{{n[0], n[0]}, 1, n[0] + n[2]};
    if (option[0]) made.shape.push_back(n[2]);
    return made;
}

SPARSEWOOD_FAMILY(binary_trees, 1, BinaryTrees)

}  // namespace sparsewood
