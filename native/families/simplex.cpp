#include "families/simplex.h"

#include "solver/registry.h"

namespace sparsewood {

// options: none
SPARSEWOOD_FAMILY(simplex, Simplex)

}  // namespace sparsewood
