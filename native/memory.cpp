#include "memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace sparsewood {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

#if defined(__linux__)

// The number in a file that holds one; `otherwise` where there is none, as of "max".
int64_t read_number(const char* path, int64_t otherwise) {
    std::ifstream file(path);
    int64_t number;
    return file >> number ? number : otherwise;
}

// The sum of the numbers that follow some of the words of a file.
template <size_t Count>
int64_t sum_after(const char* path, const char* const (&names)[Count]) {
    std::ifstream file(path);
    std::string word;
    int64_t sum = 0, number;
    while (file >> word)
        if (std::find(names, names + Count, word) != names + Count && file >> number) sum += number;
    return sum;
}

// What a control group leaves, the cache of files counted as free.
int64_t left_of_group(const char* most, const char* now, const char* details) {
    int64_t limit = read_number(most, kNoLimit);
    if (limit == kNoLimit) return kNoLimit;
    int64_t cached = sum_after(details, {"active_file", "inactive_file"});
    return std::max<int64_t>(0, limit - read_number(now, 0) + cached);
}

int64_t free_memory() {
    int64_t free = 1024 * sum_after("/proc/meminfo", {"MemAvailable:", "SwapFree:"});
    if (free == 0) free = kNoLimit;
    return std::min({free,
                     left_of_group("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
                                   "/sys/fs/cgroup/memory.stat"),
                     left_of_group("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                   "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                                   "/sys/fs/cgroup/memory/memory.stat")});
}

#else

int64_t free_memory() { return kNoLimit; }

#endif

}  // namespace

bool has_memory(int64_t bytes) { return bytes < kLargePiece || bytes <= free_memory(); }

}  // namespace sparsewood
