#include "matching.h"

#include "registry.h"

namespace sparsewood {

// options: partial
SPARSEWOOD_FAMILY(matching, Matching<false>, Matching<true>)

}  // namespace sparsewood
