// Vectorizable functions of gates.
#pragma once

#include <cmath>

#include "group/wide.h"

// For loops whose rows do not overlap; they are too many for run-time checks.
#if defined(__clang__)
#define SPARSEWOOD_APART _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define SPARSEWOOD_APART _Pragma("GCC ivdep")
#else
#define SPARSEWOOD_APART
#endif

namespace sparsewood {

// tanh in double is from the standard library; in float it is the rational minimax approximation of
// Eigen, which vectorizes and is accurate to a few units in the last place.
SPARSEWOOD_INLINE double fast_tanh(double x) { return std::tanh(x); }

SPARSEWOOD_INLINE float fast_tanh(float x) {
    const float bound = 7.90531110763549805f;  // beyond it float tanh is 1
    x = x > bound ? bound : x;
    x = x < -bound ? -bound : x;
    const float s = x * x;
    float p = -2.76076847742355e-16f;
    p = p * s + 2.00018790482477e-13f;
    p = p * s - 8.60467152213735e-11f;
    p = p * s + 5.12229709037114e-08f;
    p = p * s + 1.48572235717979e-05f;
    p = p * s + 6.37261928875436e-04f;
    p = p * s + 4.89352455891786e-03f;
    float q = 1.19825839466702e-06f;
    q = q * s + 1.18534705686654e-04f;
    q = q * s + 2.26843463243900e-03f;
    q = q * s + 4.89352518554385e-03f;
    return x * p / q;
}

template <class Real>
SPARSEWOOD_INLINE Real fast_sigmoid(Real x) {
    return Real(0.5) + Real(0.5) * fast_tanh(Real(0.5) * x);
}

}  // namespace sparsewood
