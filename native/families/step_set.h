// The steps of monotone paths.
#pragma once

#include "group/group.h"

namespace sparsewood {

// A set of steps, from the bits of an option: 4 down + right for each step, then the others.
struct StepSet {
    static constexpr int kReach = 3, kMost = 15;
    static constexpr int kTransposed = 16, kBlanks = 17;  // bits
    int count, down[kMost], right[kMost];
    bool transposed, blanks;

    SPARSEWOOD_HD void read(int64_t bits) {
        count = 0;
        for (int bit = 1; bit <= kMost; ++bit)
            if (bits >> bit & 1) down[count] = bit / 4, right[count++] = bit % 4;
        transposed = bits >> kTransposed & 1;
        blanks = bits >> kBlanks & 1;
    }

    SPARSEWOOD_HD bool leads_to(int step, int row) const {
        return !blanks || down[step] != 2 || row % 2 == 1;
    }
};

}  // namespace sparsewood
