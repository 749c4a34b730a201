// Adds the elementwise parts of networks over sentences to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace sparsewood {

void bind_nn(nanobind::module_& m);

}  // namespace sparsewood
