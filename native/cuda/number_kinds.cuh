// Two representations of nonnegative numbers for recursions over sums of products.
#pragma once

#include "cuda/team.cuh"

namespace sparsewood {

// The numbers themselves.
struct Plain {
    struct Sum {
        double sum;
        __device__ double number() const { return sum; }
        __device__ double share(double x) const { return ratio(x, sum); }
    };
    template <class Term>
    static __device__ Sum add_up(const Team& team, int count, const Term& term) {
        double sum = 0;
        for (int i = team.lane(); i < count; i += team.width()) sum += term(i);
        return {team.sum(sum)};
    }
    static constexpr double zero = 0;
    static __device__ double of_log(double x) { return exp(x); }
    static __device__ double log_of(double a) { return log(a); }
    static __device__ double plain(double a) { return a; }
    static __device__ double plus(double a, double b) { return a + b; }
    static __device__ double times(double a, double b) { return a * b; }
    static __device__ double inverse(double a) { return 1 / a; }
    static __device__ double ratio(double a, double b) { return b > 0 ? a / b : 0; }
    // a + x, which can only be negative by rounding.
    static __device__ double plus_plain(double a, double x) { return a + x > 0 ? a + x : 0; }
    // Far enough from underflow and overflow that lost terms are negligible.
    static __device__ bool is_usable(double total, double root) {
        return total > 1e-100 && total < 1e100 && root < 1e100 * total;
    }
    static __device__ bool is_zero(double) { return false; }  // a 0 may be an underflow
};

// Their logarithms.
struct Logs {
    struct Sum {
        Total total;
        __device__ double number() const { return total.log(); }
        __device__ double share(double x) const { return total.share(x); }
    };
    template <class Term>
    static __device__ Sum add_up(const Team& team, int count, const Term& term) {
        return {count > 0 ? total(team, count, term) : Total(kForbiddenScore, 1)};
    }
    static constexpr double zero = kForbiddenScore;
    static __device__ double of_log(double x) { return x; }
    static __device__ double log_of(double a) { return a; }
    static __device__ double plain(double a) { return exp(a); }
    static __device__ double plus(double a, double b) {
        double top = a > b ? a : b, rest = a > b ? b : a;
        return top + log1p(exp(rest - top));
    }
    static __device__ double times(double a, double b) { return a + b; }
    static __device__ double inverse(double a) { return -a; }
    static __device__ double ratio(double a, double b) { return is_empty(b) ? 0 : exp(a - b); }
    static __device__ double plus_plain(double a, double x) {
        if (a > 700) return a;
        double sum = exp(a) + x;
        return sum > 0 ? log(sum) : zero;
    }
    static __device__ bool is_usable(double, double) { return true; }
    static __device__ bool is_zero(double a) { return is_empty(a); }
};

}  // namespace sparsewood
