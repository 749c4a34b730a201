// The two kinds of numbers that sums over structures run on: weights, which are fast, and their
// logarithms, which are right for all scores.
#pragma once

#include "group/group.h"

#ifndef __CUDACC__
#include "sums/terms.h"
#endif

#ifdef __CUDACC_RTC__
using uint8_t = unsigned char;
#endif

namespace sparsewood {

// A Group of one lane, on any device.
#ifdef __CUDACC__
using Single = Lane;
#else
using Single = Thread;
#endif

// The logarithm of a sum over no structures: FORBIDDEN of structures/recursions/totals.py.
constexpr double kNone = -1e300;

// e^top times sum.
struct Total {
    double top, sum;
};

// `term` is one alternative's part of `sum`: the product of a and b, over e^top.
struct Weights {
    static constexpr double kZero = 0, kOne = 1;
    static SPARSEWOOD_HD double times(double x, double y) { return x * y; }
    static SPARSEWOOD_HD double value(const Total& total) { return total.sum; }
    static SPARSEWOOD_HD double term(double a, double b, double) { return a * b; }
    // What is smaller contributes nothing to a sum that is itself far from underflow.
    static SPARSEWOOD_HD bool is_usable(const Total& total) { return total.sum > 1e-290; }
};

struct Logs {
    static constexpr double kZero = kNone, kOne = 0;
    static SPARSEWOOD_HD double times(double x, double y) { return x + y; }
    static SPARSEWOOD_HD double value(const Total& total) { return total.top + log(total.sum); }
    static SPARSEWOOD_HD double term(double a, double b, double top) { return exp(a + b - top); }
    static SPARSEWOOD_HD bool is_usable(const Total&) { return true; }
};

// Rows of the alternatives of one sum, and what flows through it: `flow` is the probability that a
// structure uses the sum, `rate` the change of its logarithm along a direction.
struct Pieces {
    const double *a, *b;
    int count;
};

template <class Number, class G>
SPARSEWOOD_HD Total add_up(const G& g, const Pieces& x) {
    double top = 0, sum = 0;
    if (Number::kOne == 0) {
        top = kForbidden;
        for (int m = g.lane(); m < x.count; m += g.size())
            top = x.a[m] + x.b[m] > top ? x.a[m] + x.b[m] : top;
        top = g.max(top);
    }
    for (int m = g.lane(); m < x.count; m += g.size()) sum += Number::term(x.a[m], x.b[m], top);
    return {top, g.sum(sum)};
}

// Adds to the flows of both sides what each alternative takes of `flow`.
template <class Number, class G>
SPARSEWOOD_HD void spread(const G& g, const Pieces& x, const Total& total, double flow,
                          double* flow_a, double* flow_b) {
    double factor = flow / total.sum;
    for (int m = g.lane(); m < x.count; m += g.size()) {
        double share = factor * Number::term(x.a[m], x.b[m], total.top);
        flow_a[m] += share;
        flow_b[m] += share;
    }
}

// The rate of a sum from those of its alternatives.
template <class Number, class G>
SPARSEWOOD_HD double mean_rate(const G& g, const Pieces& x, const Total& total,
                               const double* rate_a, const double* rate_b) {
    double sum = 0, factor = 1 / total.sum;
    for (int m = g.lane(); m < x.count; m += g.size())
        sum += factor * Number::term(x.a[m], x.b[m], total.top) * (rate_a[m] + rate_b[m]);
    return g.sum(sum);
}

// The derivative of spread(): of the flows along the direction.
template <class Number, class G>
SPARSEWOOD_HD void spread_rate(const G& g, const Pieces& x, const Total& total, double flow,
                               double flow_rate, double rate, const double* rate_a,
                               const double* rate_b, double* to_a, double* to_b) {
    double factor = 1 / total.sum;
    for (int m = g.lane(); m < x.count; m += g.size()) {
        double share = factor * Number::term(x.a[m], x.b[m], total.top);
        double change = share * (flow_rate + flow * (rate_a[m] + rate_b[m] - rate));
        to_a[m] += change;
        to_b[m] += change;
    }
}

// One alternative, with probability proportional to its term; `at` is uniform in [0, 1).
template <class Number>
SPARSEWOOD_HD int pick(const Pieces& x, const Total& total, double at) {
    double left = at * total.sum;
    int last = 0;
    for (int m = 0; m < x.count; ++m) {
        double term = Number::term(x.a[m], x.b[m], total.top);
        if (!(term > 0)) continue;
        last = m;
        left -= term;
        if (left < 0) break;
    }
    return last;
}

#ifndef __CUDACC__
// On a CPU the rows that take the time are compiled for wider vectors.
template <>
inline Total add_up<Weights>(const Thread&, const Pieces& x) {
    return {0, terms::product(x.a, x.b, x.count)};
}
template <>
inline Total add_up<Logs>(const Thread&, const Pieces& x) {
    Total total;
    total.sum = terms::sum_of_exponentials(x.a, x.b, x.count, total.top);
    return total;
}
template <>
inline void spread<Weights>(const Thread&, const Pieces& x, const Total& total, double flow,
                            double* flow_a, double* flow_b) {
    terms::spread_products(x.a, x.b, x.count, flow / total.sum, flow_a, flow_b);
}
template <>
inline void spread<Logs>(const Thread&, const Pieces& x, const Total& total, double flow,
                         double* flow_a, double* flow_b) {
    terms::spread_exponentials(x.a, x.b, x.count, total.top, flow / total.sum, flow_a, flow_b);
}
#endif

}  // namespace sparsewood
