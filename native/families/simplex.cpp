#include "simplex.h"

#include "registry.h"

namespace sparsewood {

// options: none
SPARSEWOOD_FAMILY(simplex, Simplex)

}  // namespace sparsewood
