// The largest entries of a row of scores minus prices: the inner loops of the assignment problem.
//
// Run by one lane of any Group; a CPU thread processes the entries in pairs.
#pragma once

#include "group/group.h"

namespace sparsewood {

// The two best entries so far.
struct TwoBest {
    double best, second;

    SPARSEWOOD_HD void see(double x) {
        double lower = x > best ? best : x;
        second = lower > second ? lower : second;
        best = x > best ? x : best;
    }
};

// The two largest of row[j] - price[j].
template <class G>
SPARSEWOOD_HD TwoBest two_best(const G&, const double* row, const double* price, int n) {
    TwoBest two{kForbidden, kForbidden};
    for (int j = 0; j < n; ++j) two.see(row[j] - price[j]);
    return two;
}

// value[j] = max(value[j], so_far + row[j] - price[j]); returns the largest.
template <class G>
SPARSEWOOD_HD double improve(const G&, const double* row, const double* price, double so_far, int n,
                             double* value) {
    double best = kForbidden;
    for (int j = 0; j < n; ++j) {
        double x = so_far + row[j] - price[j];
        value[j] = x > value[j] ? x : value[j];
        best = value[j] > best ? value[j] : best;
    }
    return best;
}

#ifndef __CUDACC_RTC__
// The elementwise minimum.
inline Pair smaller(Pair a, Pair b) {
#if defined(__GNUC__)
    return {a.v < b.v ? a.v : b.v};
#else
    return {{a.v[0] < b.v[0] ? a.v[0] : b.v[0], a.v[1] < b.v[1] ? a.v[1] : b.v[1]}};
#endif
}

inline TwoBest two_best(const Thread&, const double* row, const double* price, int n) {
    Pair m = {{kForbidden, kForbidden}}, o = m, s = m, t = m;
    int j = 0;
    for (; j + 4 <= n; j += 4) {
        Pair x = Pair::load(row + j) - Pair::load(price + j);
        Pair y = Pair::load(row + j + 2) - Pair::load(price + j + 2);
        s = s.max(smaller(x, m));
        t = t.max(smaller(y, o));
        m = x.max(m);
        o = y.max(o);
    }
    s = s.max(t).max(smaller(m, o));
    m = m.max(o);
    TwoBest two{m.v[0], s.v[0] > s.v[1] ? s.v[0] : s.v[1]};
    two.see(m.v[1]);
    for (; j < n; ++j) two.see(row[j] - price[j]);
    return two;
}

inline double improve(const Thread&, const double* row, const double* price, double so_far, int n,
                      double* value) {
    Pair m = {{kForbidden, kForbidden}}, o = m, from = {{so_far, so_far}};
    int j = 0;
    for (; j + 4 <= n; j += 4) {
        Pair x = from + Pair::load(row + j) - Pair::load(price + j);
        Pair y = from + Pair::load(row + j + 2) - Pair::load(price + j + 2);
        x = x.max(Pair::load(value + j));
        y = y.max(Pair::load(value + j + 2));
        x.store(value + j);
        y.store(value + j + 2);
        m = x.max(m);
        o = y.max(o);
    }
    m = m.max(o);
    double best = m.v[0] > m.v[1] ? m.v[0] : m.v[1];
    for (; j < n; ++j) {
        double x = so_far + row[j] - price[j];
        value[j] = x > value[j] ? x : value[j];
        best = value[j] > best ? value[j] : best;
    }
    return best;
}
#endif

}  // namespace sparsewood
