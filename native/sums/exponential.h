// The exponential function for loops that should vectorise.
#pragma once

#include <cstdint>
#include <cstring>

#include "group/wide.h"

namespace sparsewood {

// exp(r) for |r| <= log(2) / 2 to the last place, by its series.
SPARSEWOOD_INLINE double exp_series(double r) {
    double sum = 1.0 / 6227020800;
    sum = sum * r + 1.0 / 479001600;
    sum = sum * r + 1.0 / 39916800;
    sum = sum * r + 1.0 / 3628800;
    sum = sum * r + 1.0 / 362880;
    sum = sum * r + 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 0.5;
    sum = sum * r + 1;
    sum = sum * r + 1;
    return sum;
}

// exp(x) for x <= 0 to the last place: 2^k times the series of what is left, in operations that
// vectorise. Below -700 it is 0; NaN stays NaN.
SPARSEWOOD_INLINE double exp_of_negative(double x) {
    const double shift = 0x1.8p52;  // leaves the nearest whole number in the low bits
    const double shifted = x * 0x1.71547652b82fep0 + shift;
    const double k = shifted - shift;
    const double r = (x - k * 0x1.62e42fefa0000p-1) - k * 0x1.cf79abc9e3b39p-40;
    double sum = exp_series(r);
    uint64_t bits;
    std::memcpy(&bits, &shifted, 8);
    bits = (bits + 1023) << 52;
    double power;
    std::memcpy(&power, &bits, 8);
    double result = sum * power;
    std::memcpy(&bits, &result, 8);
    bits &= -static_cast<uint64_t>(!(x < -700));
    std::memcpy(&result, &bits, 8);
    return result;
}

}  // namespace sparsewood
