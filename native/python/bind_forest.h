// Adds the forest's functions to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace sparsewood {

void bind_forest(nanobind::module_& m);

}  // namespace sparsewood
