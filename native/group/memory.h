// How much memory there is, looked up before a large piece of it is asked for: some systems promise
// more than they have, and end the process that takes them at their word.
#pragma once

#include <cstdint>

namespace sparsewood {

// Bytes. Smaller pieces are asked for without a look.
constexpr int64_t kLargePiece = int64_t{1} << 28;

#if defined(__wasm__)
inline bool has_memory(int64_t) { return true; }  // asking tells
#else
// Whether the process can fill so many bytes; true where the system does not say.
bool has_memory(int64_t bytes);  // memory.cpp
#endif

}  // namespace sparsewood
