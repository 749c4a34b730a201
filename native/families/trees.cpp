#include "families/trees.h"

#include "solver/registry.h"

namespace sparsewood {

// options: projective, single_root
static Layout layout_of_trees(Sides n, const Whole&) { return {{n[0], n[0] + 1}, 1, n[0] + 1}; }

SPARSEWOOD_FAMILY(trees, 2, Trees<false, false>, Trees<false, true>, Trees<true, false>,
                  Trees<true, true>)

}  // namespace sparsewood
