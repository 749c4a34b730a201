#include "families/alignment.h"

#include "solver/registry.h"

namespace sparsewood {

// options: gaps
SPARSEWOOD_FAMILY(alignment, Warping, GappedAlignment)

}  // namespace sparsewood
