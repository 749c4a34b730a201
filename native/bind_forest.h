// Adds the forest's functions to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace spinney {

void bind_forest(nanobind::module_& m);

}  // namespace spinney
