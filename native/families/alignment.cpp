#include "alignment.h"

#include "registry.h"

namespace sparsewood {

// options: gaps
SPARSEWOOD_FAMILY(alignment, Warping, GappedAlignment)

}  // namespace sparsewood
