#include "families/subset.h"

#include "solver/registry.h"

namespace sparsewood {

// options: the fewest and the most items, -1 for all
SPARSEWOOD_FAMILY(subset, Subset)

}  // namespace sparsewood
