// Memory for an Arena of a CPU thread.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "group/fail.h"
#include "group/memory.h"

namespace sparsewood {

// Uninitialised memory, aligned for Arena.
class Block {
  public:
    char* reserve(int64_t bytes, const char* what = "a piece") {
        char* memory = try_reserve(bytes);
        if (!memory) fail_for_memory(bytes, what);
        return memory;
    }

    // Null if there is not enough memory.
    char* try_reserve(int64_t bytes) {
        if (bytes > size_) {
            if (static_cast<uint64_t>(bytes) > SIZE_MAX - kAlign || !has_memory(bytes))
                return nullptr;
            data_.reset(new (std::nothrow) char[static_cast<size_t>(bytes) + kAlign]);
            size_ = data_ ? bytes : 0;
            if (!data_) return nullptr;
        }
        auto address = reinterpret_cast<uintptr_t>(data_.get());
        return reinterpret_cast<char*>((address + kAlign - 1) / kAlign * kAlign);
    }

  private:
    static constexpr size_t kAlign = 64;
    std::unique_ptr<char[]> data_;
    int64_t size_ = 0;
};

}  // namespace sparsewood
