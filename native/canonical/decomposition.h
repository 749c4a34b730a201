// Structures with weights, as a decomposition of marginals makes them.
#pragma once

#include <cstdint>
#include <vector>

namespace sparsewood {

struct Decomposition {
    std::vector<int16_t> codes;   // (size, stride), padding 0
    std::vector<double> weights;  // (size)
    int calls = 0;                // how often the oracle was asked

    int size() const { return static_cast<int>(weights.size()); }
};

}  // namespace sparsewood
