// Crosses: mixtures of an active structure and its nearest neighbour, chosen slot by slot for the
// better score. They separate slots that no active structure distinguishes.
//
// Each lane makes its own cross, with its own scratch memory.
#pragma once

#include "solver/active_set.h"

namespace sparsewood {

template <class Family>
struct Crosses {
    static constexpr int kMost = 512;  // maximum number that enter at once
    int16_t* children;                 // (lanes, stride) the cross of each lane
    char* scratch;                     // (lanes, share)
    int64_t share;                     // bytes that a family's cross() needs
    int32_t* partner;                  // (capacity) by place: its partner

    SPARSEWOOD_HD void lay_out(Arena& arena, const Codes<Family>& codes) {
        share = 0;
        if constexpr (Family::kCross > kNever) {
            Family measured = codes.family;
            Arena measure{nullptr};
            measured.lay_out_cross(measure);
            share = measure.used;
        }
        children = arena.take<int16_t>(int64_t(arena.lanes) * codes.stride);
        scratch = arena.take<char>(arena.lanes * share);
    }

    SPARSEWOOD_HD void lay_out_active(Arena& arena, int room) {
        partner = arena.take<int32_t>(room);
    }

    // Crosses every active structure with its nearest one. Crosses that score more than `least`
    // above the active structures by `reduced` enter, up to `most` active structures.
    template <class G>
    SPARSEWOOD_HD void enter(const G& g, ActiveSet<Family>& set, const double* reduced,
                             double least, int64_t most) {
        const Codes<Family>& codes = set.codes;
        int count = set.size(), wait = 0;
        if (count >= most) return;
        pair(g, set, reduced);
        Family family = codes.family;
        Arena arena{scratch + g.lane() * share};
        if constexpr (Family::kCross > kNever) family.lay_out_cross(arena);
        SPARSEWOOD_ROLLED
        for (int start = 0; start < count; start += g.size()) {
            int a = start + g.lane();
            int16_t* child = children + int64_t(g.lane()) * codes.stride;
            bool better = a < count && cross(g, codes, family, set.scratch, reduced,
                                             codes.place[a], least, child) > least;
            uint32_t found = g.ballot(better);
            g.sync();
            SPARSEWOOD_ROLLED
            for (; found != 0; found &= found - 1) {
                int lane = lowest_bit(found);
                if (!take(g, codes.place[start + lane])) continue;
                int16_t* to = set.waiting(wait++);
                const int16_t* from = children + int64_t(lane) * codes.stride;
                SPARSEWOOD_ROLLED
                for (int i = g.lane(); i < codes.stride; i += g.size()) to[i] = from[i];
                g.sync();
                if (wait < set.kWaiting && set.size() + wait < most) continue;
                // If the active structures span all others, none can enter.
                if (set.append_waiting(g, wait) == 0 && wait == set.kWaiting) return;
                wait = 0;
                if (set.size() >= most) return;
            }
        }
        if (wait > 0) set.append_waiting(g, wait);
    }

  private:
    // Finds the partner of every active structure, and by place a bound on the gain of the pair.
    template <class G>
    SPARSEWOOD_HD void pair(const G& g, ActiveSet<Family>& set, const double* reduced) {
        Codes<Family>& codes = set.codes;
        int count = set.size();
        codes.find_nearest(g, count);
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); a < count; a += g.size()) {
            int p = codes.place[a];
            partner[p] = codes.nearest[p];
        }
        g.sync();
        if constexpr (G::kLanes == 1)
            for (int a = 0; a < count; ++a) {
                int p = codes.place[a];
                if (partner[p] >= 0 && bound_at(p) == p)
                    set.scratch[p] = possible_gain(g, codes, reduced, p, partner[p]);
            }
    }

    SPARSEWOOD_HD bool is_mutual(int p) const { return partner[partner[p]] == p; }

    // The place at which the possible gain of p and its partner is stored.
    SPARSEWOOD_HD int bound_at(int p) const {
        int q = partner[p];
        return q < p && is_mutual(p) ? q : p;
    }

    // Whether the cross of the structure at p may enter: not if the cross of its partner with it
    // does. As a + b = cross(a, b) + cross(b, a), the second would be dependent.
    template <class G>
    SPARSEWOOD_HD bool take(const G& g, int p) {
        int q = partner[p];
        if (q < 0) return false;
        bool mutual = is_mutual(p);
        g.sync();
        if (mutual && g.leader()) partner[q] = -1;
        g.sync();
        return true;
    }

    // child <- the structure at p with pieces of its partner; returns its gain, or 0 if the gain
    // cannot exceed `least`.
    template <class G>
    SPARSEWOOD_HD double cross(const G&, const Codes<Family>& codes, Family& family,
                               const double* bound, const double* reduced, int p, double least,
                               int16_t* child) const {
        int q = partner[p];
        if (q < 0) return 0;
        double gain = G::kLanes == 1 ? bound[bound_at(p)]
                                     : possible_gain(typename G::Lane{}, codes, reduced, p, q);
        if (!(gain > least)) return 0;
        copy_code(codes.at(p), codes.stride, child);
        if constexpr (Family::kCross > kNever) return family.cross(reduced, child, codes.at(q));
        return 0;
    }

    // The gain of crossing the structures at p and q if every mixture were valid. Both have the
    // same score, so each is better in some slots by as much as it is worse in the others.
    template <class Lane>
    static SPARSEWOOD_HD double possible_gain(const Lane& lane, const Codes<Family>& codes,
                                              const double* reduced, int p, int q) {
        return codes.distance(lane, reduced, p, q) / 2;
    }
};

}  // namespace sparsewood
