#include "families/matching.h"

#include "solver/registry.h"

namespace sparsewood {

// options: partial
static Layout layout_of_matching(Sides n, const Whole&) { return {{n[0], n[1]}, 2, n[0] + n[1]}; }

SPARSEWOOD_FAMILY(matching, 1, Matching<false>, Matching<true>)

}  // namespace sparsewood
