#include "group/memory.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <limits>

namespace sparsewood {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

#if defined(__linux__)

// A system file, read with C functions: C++ streams break if two standard libraries are loaded.
class File {
  public:
    explicit File(const char* path) : file_(std::fopen(path, "r")) {}
    ~File() {
        if (file_) std::fclose(file_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    bool read(int64_t& number) { return file_ && std::fscanf(file_, "%" SCNd64, &number) == 1; }
    bool read(char (&word)[64]) { return file_ && std::fscanf(file_, "%63s", word) == 1; }

  private:
    std::FILE* file_;
};

// The number in a file; `otherwise` if it holds none, such as "max".
int64_t read_number(const char* path, int64_t otherwise) {
    int64_t number;
    return File(path).read(number) ? number : otherwise;
}

// The sum of the numbers that follow two words in a file.
int64_t sum_after(const char* path, const char* first, const char* second) {
    File file(path);
    char word[64];
    int64_t sum = 0, number;
    while (file.read(word))
        if ((std::strcmp(word, first) == 0 || std::strcmp(word, second) == 0) && file.read(number))
            sum += number;
    return sum;
}

// The free memory of a control group, counting its file cache as free.
int64_t left_of_group(const char* most, const char* now, const char* details) {
    int64_t limit = read_number(most, kNoLimit);
    if (limit == kNoLimit) return kNoLimit;
    int64_t cached = sum_after(details, "active_file", "inactive_file");
    return std::max<int64_t>(0, limit - read_number(now, 0) + cached);
}

int64_t free_memory() {
    int64_t free = 1024 * sum_after("/proc/meminfo", "MemAvailable:", "SwapFree:");
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
