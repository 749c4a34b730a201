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
    double* breaks;  // (2 items) scratch; then the breakpoints between sets
    int sets;        // number of sets in the mixture

    SPARSEWOOD_HD void lay_out(Arena& arena, int count) {
        items = count;
        share = arena.take<double>(count);
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
            sum = lower(scores, step, 2 * allowed, goal);
            // The scores are so large that their differences have no fractional digits.
            if (!(std::fabs(sum - goal) <= kSame / 4)) return sets = 0;
        }
        return sets = cut();
    }

    // Calls write(i, whether item i is in set c), by systematic sampling (Madow 1949). The shares
    // are laid out as consecutive intervals on a line; the sets are the items under a comb with
    // teeth at distance 1, as it moves along the line. Each set has as many items as the shares sum
    // to, rounded up or down. Consecutive sets exchange one item for the next, so they are affinely
    // independent.
    template <class Write>
    void write(int c, Write write) const {
        double fraction = (breaks[c] + (c + 1 < sets ? breaks[c + 1] : 1)) / 2, before = 0;
        for (int i = 0; i < items; ++i) {
            if (share[i] == 0 || share[i] == 1) {
                write(i, share[i] == 1);
                continue;
            }
            double after = before + share[i];
            write(i, std::floor(after - fraction) > std::floor(before - fraction));
            before = after;
        }
    }

  private:
    static constexpr double kSame = 1e-11;  // sets of smaller weight are dropped

    static double clip(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

    // share <- the scores minus origin and tau, clipped to [0, 1]; returns their sum.
    double fill(const double* scores, int step, double origin, double tau) {
        double sum = 0;
        for (int i = 0; i < items; ++i)
            sum += share[i] = clip(scores[int64_t(i) * step] - origin - tau);
        return sum;
    }

    // fill() with the tau that makes the sum (nearly) `goal`. Between two breaks the sum is linear;
    // scores are relative to the lower break, so that a large common value costs no precision.
    double lower(const double* scores, int step, int count, double goal) {
        std::sort(breaks, breaks + count);
        int low = 0, high = count - 1;  // the sum at low >= goal >= the sum at high
        while (high - low > 1) {
            int middle = (low + high) / 2;
            (fill(scores, step, breaks[middle], 0) >= goal ? low : high) = middle;
        }
        double below = fill(scores, step, breaks[high], 0);
        double above = fill(scores, step, breaks[low], 0), tau = 0;
        if (above > below) tau = (breaks[high] - breaks[low]) * ((above - goal) / (above - below));
        return fill(scores, step, breaks[low], tau);
    }

    // Sorts the fractional parts of cumulative shares: between two of them the set is constant.
    int cut() {
        double sum = 0;
        int count = 0;
        breaks[count++] = 0;
        for (int i = 0; i < items; ++i) {
            if (share[i] == 0 || share[i] == 1) continue;
            sum += share[i];
            breaks[count++] = sum - std::floor(sum);
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
