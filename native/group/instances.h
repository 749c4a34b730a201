// for_each_instance(): with threads, or without where there are none.
#pragma once

#if defined(__wasm__)
#include "group/alone.h"
#else
#include "group/parallel.h"
#endif
