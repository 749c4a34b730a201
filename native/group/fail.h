// Ends a call because of bad input or lack of memory: by a C++ exception, or in WebAssembly by an
// exception thrown in JavaScript.
#pragma once

#include <cstdint>
#include <string>

#if defined(__wasm__)

namespace sparsewood {

[[noreturn]] void fail(const std::string& message);  // wasm.cpp

[[noreturn]] inline void fail_for_memory(int64_t, const std::string& = {}) {
    fail("the problem needs more memory than there is");
}

template <class Where, class Work>
void tell_where(Where, Work work) {
    work();
}

}  // namespace sparsewood

#else

#include <new>
#include <stdexcept>
#include <utility>

namespace sparsewood {

// Python's MemoryError.
class OutOfMemory : public std::bad_alloc {
  public:
    explicit OutOfMemory(std::string what, const std::string& where = {})
        : what_(std::move(what)),
          message_(what_ + " does not fit in the memory that is free" +
                   (where.empty() ? where : " (" + where + ")") +
                   ": use smaller batches or instances, or keep fewer structures with max_active "
                   "or max_support") {}
    const char* what() const noexcept override { return message_.c_str(); }
    OutOfMemory at(const std::string& where) const { return OutOfMemory(what_, where); }

  private:
    std::string what_, message_;
};

[[noreturn]] inline void fail(const std::string& message) { throw std::invalid_argument(message); }

// what: a singular noun for the bytes.
[[noreturn]] inline void fail_for_memory(int64_t bytes, const std::string& what = "a piece") {
    throw OutOfMemory(what + " of " + std::to_string(bytes >> 20) + " MiB");
}

// work(); if memory runs out, the message says where.
template <class Where, class Work>
void tell_where(Where where, Work work) {
    try {
        work();
    } catch (const OutOfMemory& failure) {
        throw failure.at(where());
    } catch (const std::bad_alloc&) {
        throw OutOfMemory("an array of the solution", where());
    }
}

}  // namespace sparsewood

#endif
