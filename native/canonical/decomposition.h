// The result of a decomposition of marginals: structures with weights.
#pragma once

#include <cstdint>
#include <vector>

namespace sparsewood {

struct Decomposition {
    std::vector<int16_t> codes;   // (size, stride), padding 0
    std::vector<double> weights;  // (size)
    int calls = 0;                // number of oracle calls

    int size() const { return static_cast<int>(weights.size()); }
};

}  // namespace sparsewood
