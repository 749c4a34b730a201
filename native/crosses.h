// Structures made of two that are active: one and its nearest neighbour, mixed slot by slot for the
// better score. They separate slots that no active structure tells apart.
#pragma once

#include "active_set.h"

namespace sparsewood {

template <class Family>
struct Crosses {
    static constexpr int kMost = 512;  // at most so many enter at once
    int32_t* partner;                  // (capacity) by place: what it is crossed with

    SPARSEWOOD_HD void lay_out_active(Arena& arena, int room) {
        partner = arena.take<int32_t>(room);
    }

    // Pairs every active structure with its nearest one and lets those crosses enter, up to `most`
    // active structures, that score more than `least` above the active ones by `reduced`.
    template <class G>
    SPARSEWOOD_HD void enter(const G& g, ActiveSet<Family>& set, const double* reduced,
                             double least, int64_t most) {
        SPARSEWOOD_PHASE(gain);
        using Set = ActiveSet<Family>;
        const Codes<Family>& codes = set.codes;
        int count = set.size();
        double* bound = set.scratch;  // by place: what a pair may gain
        for (int a = 0; a < count; ++a) {
            int p = codes.place[a];
            if (codes.nearest[p] < 0) set.codes.find_nearest(g, a, count);
            if (g.leader()) partner[p] = codes.nearest[p], bound[p] = -1;
        }
        g.sync();
        int wait = 0;
        for (int a = 0; a < count && set.size() < most; ++a) {
            int p = codes.place[a], q = partner[p];
            if (q >= 0) {
                const int16_t *one = codes.at(p), *other = codes.at(q);
                bool mutual = partner[q] == p;
                double gain = mutual && bound[q] >= 0
                                  ? bound[q]
                                  : possible_gain(g, codes, reduced, one, other);
                g.sync();
                if (g.leader()) bound[p] = gain;
                if (gain > least &&
                    cross(g, set.codes, reduced, one, other, set.waiting(wait)) > least) {
                    ++wait;
                    // a + b = cross(a, b) + cross(b, a): beside the one the other is dependent.
                    if (mutual && g.leader()) partner[q] = -1;
                }
                g.sync();
            }
            if (wait == Set::kWaiting ||
                (wait > 0 && (set.size() + wait == most || a + 1 == count))) {
                // The structures active may span all there is: then none can enter.
                if (set.append_waiting(g, wait) == 0 && wait == Set::kWaiting) break;
                wait = 0;
            }
        }
    }

  private:
    // child <- a with pieces of b; returns what it gains.
    template <class G>
    static SPARSEWOOD_HD double cross(const G& g, Codes<Family>& codes, const double* reduced,
                                      const int16_t* a, const int16_t* b, int16_t* child) {
        SPARSEWOOD_PHASE(cross);
        for (int i = g.lane(); i < codes.stride; i += g.size()) child[i] = a[i];
        g.sync();
        double gain = 0;
        if constexpr (Family::kCross > kNever)
            if (g.leader()) gain = codes.family.cross(reduced, child, b);
        gain = g.sum(gain);
        g.sync();
        return gain;
    }

    // What crossing a with b would gain if every mixture were a structure. Both score the
    // same, so b is better in some slots by as much as it is worse in the others.
    template <class G>
    static SPARSEWOOD_HD double possible_gain(const G& g, const Codes<Family>& codes,
                                              const double* reduced, const int16_t* a,
                                              const int16_t* b) {
        double difference = 0;
        for (int i = g.lane(); i < codes.slots; i += g.size()) {
            const double* row = reduced + codes.base[i];
            difference += fabs(row[b[i]] - row[a[i]]);
        }
        return g.sum(difference) / 2;
    }
};

}  // namespace sparsewood
