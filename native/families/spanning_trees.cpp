#include "families/spanning_trees.h"

#include "solver/registry.h"

namespace sparsewood {

// options: none
static Layout layout_of_spanning_trees(Sides n, const Whole&) {
    int64_t vertices = std::max(n[0], int64_t{2});
    return {{vertices, vertices}, 1, n[0]};
}

SPARSEWOOD_FAMILY(spanning_trees, 0, SpanningTrees)

}  // namespace sparsewood
