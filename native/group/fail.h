// Ends a call because of bad input or lack of memory: by a C++ exception, or in WebAssembly by an
// exception thrown in JavaScript.
#pragma once

#include <cstdint>
#include <string>

#if defined(__wasm__)

namespace sparsewood {

[[noreturn]] void fail(const std::string& message);  // wasm.cpp

[[noreturn]] inline void fail_for_memory(int64_t) {
    fail("the problem needs more memory than there is");
}

}  // namespace sparsewood

#else

#include <new>
#include <stdexcept>

namespace sparsewood {

// Python's MemoryError.
class OutOfMemory : public std::bad_alloc {
  public:
    explicit OutOfMemory(int64_t bytes)
        : message_("a piece of " + std::to_string(bytes >> 20) +
                   " MiB does not fit in the memory that is free: use smaller batches or instances, "
                   "or keep fewer structures with max_active or max_support") {}
    const char* what() const noexcept override { return message_.c_str(); }

  private:
    std::string message_;
};

[[noreturn]] inline void fail(const std::string& message) { throw std::invalid_argument(message); }

[[noreturn]] inline void fail_for_memory(int64_t bytes) { throw OutOfMemory(bytes); }

}  // namespace sparsewood

#endif
