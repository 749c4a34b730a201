#include "families/alignment.h"

#include "solver/registry.h"

namespace sparsewood {

// options: gaps
static Layout layout_of_alignment(Sides n, const Whole&) { return {{n[0], n[1]}, 2, n[0] + n[1]}; }

SPARSEWOOD_FAMILY(alignment, 1, Warping, GappedAlignment)

}  // namespace sparsewood
