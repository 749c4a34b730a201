// for_each_instance(), with threads where the platform has them.
#pragma once

#if defined(__wasm__)
#include "group/alone.h"
#else
#include "group/parallel.h"
#endif
