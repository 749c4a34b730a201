// How bad input ends a call: by an exception, which in WebAssembly it is JavaScript that throws.
#pragma once

#include <string>

#if defined(__wasm__)

namespace sparsewood {

[[noreturn]] void fail(const std::string& message);  // wasm.cpp

}

#else

#include <stdexcept>

namespace sparsewood {

[[noreturn]] inline void fail(const std::string& message) { throw std::invalid_argument(message); }

}  // namespace sparsewood

#endif
