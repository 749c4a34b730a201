#include "families/matching.h"

#include "solver/registry.h"

namespace sparsewood {

// options: partial
SPARSEWOOD_FAMILY(matching, Matching<false>, Matching<true>)

}  // namespace sparsewood
