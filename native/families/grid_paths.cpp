#include "families/grid_paths.h"

#include "solver/registry.h"

#if !defined(__wasm__)  // a page asks for k best

namespace sparsewood {

// options: whether steps may be diagonal
static Layout layout_of_grid_paths(Sides n, const Whole&) { return {{n[0], n[1]}, 2, 2}; }

SPARSEWOOD_FAMILY(grid_paths, 1, GridPaths)

}  // namespace sparsewood

#endif
