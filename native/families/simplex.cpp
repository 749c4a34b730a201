#include "families/simplex.h"

#include "solver/registry.h"

namespace sparsewood {

// options: none
static Layout layout(Sides n, const Whole&) { return {{n[0]}, 1, n[0]}; }

SPARSEWOOD_FAMILY(simplex, 0, layout, Simplex)

}  // namespace sparsewood
