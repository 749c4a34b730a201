// Checks for free memory before a large allocation: some systems overcommit, and kill the process
// when it uses the memory.
#pragma once

#include <cstdint>

namespace sparsewood {

// Bytes. Smaller allocations are not checked.
constexpr int64_t kLargePiece = int64_t{1} << 28;

#if defined(__wasm__)
inline bool has_memory(int64_t) { return true; }  // the allocation itself fails
#else
// Whether the process can use `bytes`; true if the system does not say.
bool has_memory(int64_t bytes);  // memory.cpp
#endif

}  // namespace sparsewood
