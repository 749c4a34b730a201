// The dynamic shared memory of a block.
#pragma once

#include "group/group.h"

namespace sparsewood {

#ifdef SPARSEWOOD_EMULATED
char* dynamic_shared();
#else
// Aligned for any type; its size is set by the launch.
__device__ inline char* dynamic_shared() {
    extern __shared__ __align__(16) char sparsewood_dynamic_shared[];
    return sparsewood_dynamic_shared;
}
#endif

}  // namespace sparsewood
