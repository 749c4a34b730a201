// Adds the sums over spanning trees to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace sparsewood {

void bind_tree_sums(nanobind::module_& m);

}  // namespace sparsewood
