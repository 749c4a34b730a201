// Adds the algorithms of rankings to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace sparsewood {

void bind_rankings(nanobind::module_& m);

}  // namespace sparsewood
