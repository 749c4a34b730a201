// Loops over the alternatives of a sum for one CPU thread: see numbers.h.
#pragma once

namespace sparsewood::terms {

// sum_m a[m] b[m]
double product(const double* a, const double* b, int count);

// sum_m exp(a[m] + b[m] - top) with the largest a[m] + b[m] as `top`.
double sum_of_exponentials(const double* a, const double* b, int count, double& top);

// Adds factor a[m] b[m] to both.
void spread_products(const double* a, const double* b, int count, double factor, double* to_a,
                     double* to_b);

// Adds factor exp(a[m] + b[m] - top) to both.
void spread_exponentials(const double* a, const double* b, int count, double top, double factor,
                         double* to_a, double* to_b);

// x <- exp(x), for x of at most 1 or so.
void exponentiate(double* x, long long count);

}  // namespace sparsewood::terms
