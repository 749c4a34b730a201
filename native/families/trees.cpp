#include "families/trees.h"

#include "solver/registry.h"

namespace sparsewood {

// options: projective, single_root
SPARSEWOOD_FAMILY(trees, Trees<false, false>, Trees<false, true>, Trees<true, false>,
                  Trees<true, true>)

}  // namespace sparsewood
