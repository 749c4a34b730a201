// Adds shortest paths in grids to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace sparsewood {

void bind_grid(nanobind::module_& m);

}  // namespace sparsewood
