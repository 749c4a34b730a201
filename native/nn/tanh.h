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

constexpr float kTanhBound = 7.90531110763549805f;  // beyond it float tanh is 1

// tanh of one or several floats between -kTanhBound and kTanhBound: the rational minimax
// approximation of Eigen, which vectorizes and is accurate to a few units in the last place.
template <class Floats>
SPARSEWOOD_INLINE void to_tanh(Floats& x) {
    const Floats s = x * x;
    Floats p = -2.76076847742355e-16f * s + 2.00018790482477e-13f;
    p = p * s - 8.60467152213735e-11f;
    p = p * s + 5.12229709037114e-08f;
    p = p * s + 1.48572235717979e-05f;
    p = p * s + 6.37261928875436e-04f;
    p = p * s + 4.89352455891786e-03f;
    Floats q = 1.19825839466702e-06f * s + 1.18534705686654e-04f;
    q = q * s + 2.26843463243900e-03f;
    q = q * s + 4.89352518554385e-03f;
    x = x * p / q;
}

// In double it is from the standard library.
SPARSEWOOD_INLINE double fast_tanh(double x) { return std::tanh(x); }

SPARSEWOOD_INLINE float fast_tanh(float x) {
    x = x > kTanhBound ? kTanhBound : x;
    x = x < -kTanhBound ? -kTanhBound : x;
    to_tanh(x);
    return x;
}

template <class Real>
SPARSEWOOD_INLINE Real fast_sigmoid(Real x) {
    return Real(0.5) + Real(0.5) * fast_tanh(Real(0.5) * x);
}

}  // namespace sparsewood
