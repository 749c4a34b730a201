// for_each_instance(): with threads, or without where there are none.
#pragma once

#if defined(__wasm__)
#include "alone.h"
#else
#include "parallel.h"
#endif
