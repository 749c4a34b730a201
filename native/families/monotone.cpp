#include "families/monotone.h"

#include "solver/registry.h"

namespace sparsewood {

// options: whether some step does not go to the next column, the steps
static Layout layout_of_monotone(Sides n, const Whole&) { return {{n[0], n[1]}, 2, n[0] + n[1]}; }

SPARSEWOOD_FAMILY(monotone, 2, Monotone<false>, Monotone<true>)

}  // namespace sparsewood
