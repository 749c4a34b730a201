#include "families/simplex.h"

#include "solver/registry.h"

namespace sparsewood {

// options: none
static Layout layout_of_simplex(Sides n, const Whole&) { return {{n[0]}, 1, n[0]}; }

SPARSEWOOD_FAMILY(simplex, 0, Simplex)

}  // namespace sparsewood
