// Memory for an Arena of a CPU thread.
#pragma once

#include <cstdint>
#include <memory>

#include "fail.h"

namespace sparsewood {

// Uninitialised memory, aligned for Arena.
class Block {
  public:
    char* reserve(int64_t bytes) {
        if (bytes > size_) {
            if (static_cast<uint64_t>(bytes) > SIZE_MAX - kAlign)
                fail("the problem needs more memory than there are addresses");
            data_.reset(new char[static_cast<size_t>(bytes) + kAlign]);
            size_ = bytes;
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
