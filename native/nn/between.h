// What lies between two words: the sum of the steps there, and the least and the greatest of its
// prefix sums, in each channel.
#pragma once

#include <cstdint>

#include "group/wide.h"

namespace sparsewood {

// The prefix sums (n + 1, channels) of a sentence, the empty sum first.
struct PrefixSums {
    const double* sums;
    int64_t n, channels;
};

// Writes a row of `stride` numbers for each pair (low, high), high = low + 2 .. last: the sums of
// all channels, then the least, then the greatest prefix sums. `at` may be nullptr; otherwise it
// gets rows of 3 * channels positions: the prefix sum each number is taken from, the leftmost if
// several are equal.
SPARSEWOOD_INLINE void see_between(const PrefixSums& prefixes, int64_t low, int64_t last,
                                   int64_t stride, float* values, int32_t* at) {
    const int64_t channels = prefixes.channels;
    for (int64_t c = 0; c < channels; ++c) {
        const double start = prefixes.sums[low * channels + c];
        double least = start, greatest = start;
        int32_t least_at = static_cast<int32_t>(low), greatest_at = least_at;
        for (int64_t high = low + 2; high <= last; ++high) {
            const double now = prefixes.sums[(high - 1) * channels + c];
            const int32_t here = static_cast<int32_t>(high - 1);
            if (now < least) least = now, least_at = here;
            if (now > greatest) greatest = now, greatest_at = here;
            float* to = values + (high - low - 2) * stride + c;
            to[0] = static_cast<float>(now - start);
            to[channels] = static_cast<float>(least - start);
            to[2 * channels] = static_cast<float>(greatest - start);
            if (!at) continue;
            int32_t* place = at + (high - low - 2) * 3 * channels + c;
            place[0] = here;
            place[channels] = least_at;
            place[2 * channels] = greatest_at;
        }
    }
}

}  // namespace sparsewood
