#include "sums/terms.h"

#include <algorithm>
#include <cmath>

#include "sums/exponential.h"

namespace sparsewood::terms {

namespace {

constexpr int kLanes = 8;  // independent partial results, which vectorise

SPARSEWOOD_INLINE double sum_of(const double* parts) {
    return ((parts[0] + parts[4]) + (parts[2] + parts[6])) +
           ((parts[1] + parts[5]) + (parts[3] + parts[7]));
}

}  // namespace

SPARSEWOOD_WIDE double product(const double* a, const double* b, int count) {
    double parts[kLanes] = {}, rest = 0;
    int m = 0;
    for (; m + kLanes <= count; m += kLanes)
        for (int k = 0; k < kLanes; ++k) parts[k] += a[m + k] * b[m + k];
    for (; m < count; ++m) rest += a[m] * b[m];
    return sum_of(parts) + rest;
}

SPARSEWOOD_WIDE double sum_of_exponentials(const double* a, const double* b, int count,
                                           double& top) {
    double parts[kLanes], most = -HUGE_VAL;
    std::fill(parts, parts + kLanes, most);
    int m = 0;
    for (; m + kLanes <= count; m += kLanes)
        for (int k = 0; k < kLanes; ++k) {
            double x = a[m + k] + b[m + k];
            parts[k] = x > parts[k] ? x : parts[k];
        }
    for (; m < count; ++m) most = std::max(most, a[m] + b[m]);
    for (double part : parts) most = std::max(most, part);
    top = most;
    std::fill(parts, parts + kLanes, 0.0);
    double rest = 0;
    for (m = 0; m + kLanes <= count; m += kLanes)
        for (int k = 0; k < kLanes; ++k) parts[k] += exp_of_negative(a[m + k] + b[m + k] - most);
    for (; m < count; ++m) rest += exp_of_negative(a[m] + b[m] - most);
    return sum_of(parts) + rest;
}

SPARSEWOOD_WIDE void spread_products(const double* __restrict a, const double* __restrict b,
                                     int count, double factor, double* __restrict to_a,
                                     double* __restrict to_b) {
    for (int m = 0; m < count; ++m) {
        double share = factor * a[m] * b[m];
        to_a[m] += share;
        to_b[m] += share;
    }
}

SPARSEWOOD_WIDE void spread_exponentials(const double* __restrict a, const double* __restrict b,
                                         int count, double top, double factor,
                                         double* __restrict to_a, double* __restrict to_b) {
    for (int m = 0; m < count; ++m) {
        double share = factor * exp_of_negative(a[m] + b[m] - top);
        to_a[m] += share;
        to_b[m] += share;
    }
}

SPARSEWOOD_WIDE void exponentiate(double* x, long long count) {
    for (long long i = 0; i < count; ++i) x[i] = exp_of_negative(x[i]);
}

}  // namespace sparsewood::terms
