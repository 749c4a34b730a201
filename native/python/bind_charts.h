// Adds the sums over charts to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace sparsewood {

void bind_charts(nanobind::module_& m);

}  // namespace sparsewood
