#include "families/subset.h"

#include "solver/registry.h"

namespace sparsewood {

// options: the fewest and the most items, -1 for all
static Layout layout_of_subset(Sides n, const Whole&) { return {{n[0]}, 1, n[0]}; }

SPARSEWOOD_FAMILY(subset, 2, Subset)

}  // namespace sparsewood
