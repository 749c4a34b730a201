// SparseMAP over sets of items in closed form, for one CPU thread: the projection of scores onto
// vectors with entries in [0, 1] and a bounded sum, and sets whose mixture it is.
#pragma once

#include "group/group.h"

#ifndef __CUDACC_RTC__
#include <algorithm>
#endif

namespace sparsewood {

struct CappedSimplex {
    int items;
    double* share;   // (items) the projection
    double* start;   // (items) where the interval of an item begins
    double* breaks;  // (2 items) scratch; then the ends of intervals, where the set changes
    int sets;        // number of sets in the mixture

    SPARSEWOOD_HD void lay_out(Arena& arena, int count) {
        items = count;
        share = arena.take<double>(count);
        start = arena.take<double>(count);
        breaks = arena.take<double>(2 * int64_t(count));
    }

#ifndef __CUDACC_RTC__
    // Projects scores[0], scores[step], ...; kForbidden entries get 0. Returns the number of sets,
    // or 0 if too few items are allowed or float64 is not precise enough.
    int project(const double* scores, int step, int least, int most) {
        int allowed = 0;
        for (int i = 0; i < items; ++i) {
            double s = scores[int64_t(i) * step];
            if (s == kForbidden) continue;
            breaks[2 * allowed] = s - 1;
            breaks[2 * allowed++ + 1] = s;
        }
        if (allowed < least) return sets = 0;
        double sum = fill(scores, step, 0, 0);
        if (sum < least || sum > most) {
            double goal = sum < least ? least : most;
            lower(scores, step, 2 * allowed, goal);
            // If not, scores are so large that their differences have no fractional digits.
            if (!meets(goal) && !meets(goal)) return sets = 0;
        }
        int certain = 0, possible = 0;
        for (int i = 0; i < items; ++i) certain += share[i] == 1, possible += share[i] > 0;
        if (least <= certain && possible <= most)
            nest();
        else
            line_up();
        return sets = cut();
    }

    // Calls write(i, whether item i is in set c). The shares are laid out as intervals on a circle
    // of length 1; the sets are the items at a point that moves around it, from the last break to
    // the first.
    template <class Write>
    void write(int c, Write write) const {
        int cut = sets - 1 - c;
        double point = (breaks[cut] + (cut + 1 < sets ? breaks[cut + 1] : 1)) / 2;
        for (int i = 0; i < items; ++i)
            write(i, share[i] == 1 || (share[i] > 0 && std::floor(start[i] + share[i] - point) >
                                                           std::floor(start[i] - point)));
    }

  private:
    static constexpr double kSame = 1e-11;  // sets of smaller weight are dropped

    static double clip(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
    bool is_open(int i) const { return share[i] > 0 && share[i] < 1; }

    // Where an interval that begins at `from` ends.
    double next(double from, int i) const {
        double end = from + share[i];
        return end >= 1 ? end - 1 : end;
    }

    // share <- the scores minus origin and tau, clipped to [0, 1]; returns their sum.
    double fill(const double* scores, int step, double origin, double tau) {
        double sum = 0;
        for (int i = 0; i < items; ++i)
            sum += share[i] = clip(scores[int64_t(i) * step] - origin - tau);
        return sum;
    }

    // fill() with the tau that makes the sum (nearly) `goal`. Between two breaks the sum is linear;
    // scores are relative to the lower break, so that a large common value costs no precision.
    void lower(const double* scores, int step, int count, double goal) {
        std::sort(breaks, breaks + count);
        int low = 0, high = count - 1;  // the sum at low >= goal >= the sum at high
        while (high - low > 1) {
            int middle = (low + high) / 2;
            (fill(scores, step, breaks[middle], 0) >= goal ? low : high) = middle;
        }
        double below = fill(scores, step, breaks[high], 0);
        double above = fill(scores, step, breaks[low], 0), tau = 0;
        if (above > below) tau = (breaks[high] - breaks[low]) * ((above - goal) / (above - below));
        fill(scores, step, breaks[low], tau);
    }

    // Whether the shares sum to `goal`; if not, they are corrected for rounding.
    bool meets(double goal) {
        double excess = 0;  // modulo 1
        int open = 0, whole = 0;
        for (int i = 0; i < items; ++i) {
            excess += share[i];
            if (excess >= 1) --excess, ++whole;
            open += is_open(i);
        }
        excess += whole - goal;
        if (std::fabs(excess) <= kSame / 4) return true;
        for (int i = 0; i < items; ++i)
            if (is_open(i)) share[i] = clip(share[i] - excess / open);
        return false;
    }

    // Every interval begins where the last one ends: systematic sampling (Madow 1949). Each set has
    // as many items as the shares sum to, rounded up or down. Consecutive sets exchange one item
    // for the next, so they are affinely independent.
    void line_up() {
        double end = 0;
        for (int i = 0; i < items; ++i)
            if (is_open(i)) start[i] = end, end = next(end, i);
    }

    // All intervals begin at 0: each set contains the one before, which makes their overlaps well
    // conditioned. If two shares are equal, a set is missing, and the sets span too little for
    // gradients. Then only one of both begins at 0; the others line up at the end of the first one.
    void nest() {
        int count = 0;
        for (int i = 0; i < items; ++i)
            if (is_open(i)) breaks[count++] = share[i];
        std::sort(breaks, breaks + count);
        double *taken = breaks + items, end = 0;
        for (int b = 0; b < count; ++b) taken[b] = 0;
        for (int i = 0; i < items; ++i) {
            if (!is_open(i)) continue;
            double* equal = std::lower_bound(breaks, breaks + count, share[i] - kSame);
            double& is_taken = taken[equal - breaks];
            start[i] = is_taken == 0 ? 0 : end == 0 ? share[i] : end;
            if (is_taken != 0) end = next(start[i], i);
            is_taken = 1;
        }
    }

    // Sorts the ends of the intervals.
    int cut() {
        int count = 0;
        breaks[count++] = 0;
        for (int i = 0; i < items; ++i) {
            if (!is_open(i)) continue;
            breaks[count++] = next(start[i], i);
        }
        std::sort(breaks, breaks + count);
        int kept = 1;
        for (int b = 1; b < count; ++b)
            if (breaks[b] > breaks[kept - 1] + kSame && breaks[b] < 1 - kSame)
                breaks[kept++] = breaks[b];
        return kept;
    }
#endif
};

}  // namespace sparsewood
