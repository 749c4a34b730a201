// The codes of the active structures, their places in memory, and their overlaps.
//
// A structure keeps its place while it is active; its index changes when others leave.
#pragma once

#include "families/family.h"
#include "solver/filled_slots.h"

namespace sparsewood {

template <class Family>
struct Codes {
    Family family;
    int slots;
    int stride;     // slots, rounded up to whole blocks; padding slots hold 0
    int32_t* base;  // (slots) first cell of the options of each slot
    int capacity;
    int16_t* cells;    // (capacity, stride) by place
    int32_t* place;    // (capacity) of the code of an active structure; then the free places
    int32_t* nearest;  // (capacity) by place: the place that shares most parts, -1: unknown
    int32_t* shared;   // (capacity) by place: number of parts shared with it
    FilledSlots filled;

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        slots = family.slots;
        stride = (slots + kCodeBlock - 1) / kCodeBlock * kCodeBlock;
        base = arena.take<int32_t>(slots);
        bool lists = Family::kEmpty && family.width == 2 && family.penalised == slots;
        filled.lay_out(arena, slots, stride, lists ? most_parts(family) : slots);
    }

    SPARSEWOOD_HD void lay_out_active(Arena& arena, int room) {
        capacity = room;
        cells = arena.take<int16_t>(int64_t(room) * stride);
        place = arena.take<int32_t>(room);
        nearest = arena.take<int32_t>(room);
        shared = arena.take<int32_t>(room);
        filled.lay_out_active(arena, room);
    }

    template <class G>
    SPARSEWOOD_HD void begin(const G& g) {
        SPARSEWOOD_ROLLED
        for (int i = g.lane(); i < slots; i += g.size())
            base[i] = static_cast<int32_t>(family.base(i));
        SPARSEWOOD_ROLLED
        for (int p = g.lane(); p < capacity; p += g.size()) place[p] = p;
        if constexpr (G::kLists) filled.begin();
        g.sync();
    }

    // Copies the codes of a set with less capacity.
    template <class G>
    SPARSEWOOD_HD void copy(const G& g, const Codes& from) {
        int64_t count = int64_t(from.capacity) * stride;
        for (int64_t i = g.lane(); i < count; i += g.size()) cells[i] = from.cells[i];
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); a < from.capacity; a += g.size()) {
            place[a] = from.place[a];
            nearest[a] = from.nearest[a];
            shared[a] = from.shared[a];
        }
        for (int a = from.capacity + g.lane(); a < capacity; a += g.size()) place[a] = a;
        if constexpr (G::kLists) filled.copy(from.filled, from.capacity);
        g.sync();
    }

    SPARSEWOOD_HD int16_t* at(int p) const { return cells + int64_t(p) * stride; }
    SPARSEWOOD_HD int16_t* code(int a) const { return at(place[a]); }

    // This lane's share of <scores, h - other>, summed slot by slot so that common terms cancel
    // exactly.
    template <class G>
    SPARSEWOOD_HD double share_above(const G& g, const double* scores, const int16_t* h,
                                     const int16_t* other) const {
        double s = 0;
        SPARSEWOOD_ROLLED
        for (int i = g.lane(); i < slots; i += g.size()) {
            const double* row = scores + base[i];
            s += row[h[i]] - row[other[i]];
        }
        return s;
    }

    // The same, computed entirely by one lane.
    SPARSEWOOD_HD double score_above(const double* scores, const int16_t* h,
                                     const int16_t* other) const {
        double s = 0;
        where_differ(h, other, slots, [&](int i, int mine, int theirs) {
            const double* row = scores + base[i];
            s += row[mine] - row[theirs];
        });
        return s;
    }

    // The same for the structures at two places.
    template <class G>
    SPARSEWOOD_HD double above(const G&, const double* scores, int p, int q) const {
        if constexpr (G::kLists) {
            double s = 0;
            if (filled.exist()) {
                auto add = [&](int i, int sign) { s += sign * scores[base[i] + 1]; };
                filled.where_differ(p, q, add);
                return s;
            }
        }
        return score_above(scores, at(p), at(q));
    }

    // The sum over the slots in which the structures at two places differ of the differences of
    // their scores, in size.
    template <class G>
    SPARSEWOOD_HD double distance(const G&, const double* scores, int p, int q) const {
        double s = 0;
        if constexpr (G::kLists) {
            if (filled.exist()) {
                filled.where_differ(p, q, [&](int i, int) { s += fabs(scores[base[i] + 1]); });
                return s;
            }
        }
        where_differ(at(p), at(q), slots, [&](int i, int mine, int theirs) {
            const double* row = scores + base[i];
            s += fabs(row[theirs] - row[mine]);
        });
        return s;
    }

    // The number of penalised parts shared by two structures.
    template <class G>
    SPARSEWOOD_HD SPARSEWOOD_ONCE int common_parts(const G& g, const int16_t* a,
                                                   const int16_t* b) const {
        if (family.penalised == slots) {
            int same = g.template agree<Family::kEmpty>(a, b, stride);
            return Family::kEmpty ? same : same - (stride - slots);
        }
        int whole = family.penalised / kCodeBlock * kCodeBlock;
        int same = g.template agree<Family::kEmpty>(a, b, whole);
        SPARSEWOOD_ROLLED
        for (int i = whole; i < family.penalised; ++i)
            same += a[i] == b[i] && !(Family::kEmpty && a[i] == 0);
        return same;
    }

    // The same for the structures at two places.
    template <class G>
    SPARSEWOOD_HD int common_at(const G& g, int p, int q) const {
        if constexpr (G::kLists)
            if (filled.exist()) return filled.common(p, q);
        return common_parts(g, at(p), at(q));
    }

    template <class G>
    SPARSEWOOD_HD int count_parts(const G& g, const int16_t* h) const {
        return Family::kEmpty ? common_parts(g, h, h) : family.penalised;
    }

    // Finds the nearest structures among `size` active ones where they are not known.
    template <class G>
    SPARSEWOOD_HD void find_nearest(const G& g, int size) {
        if constexpr (G::kLists)
            if (filled.exist()) return find_nearest_by_lists(size);
        auto is_alone = [&](int a) { return nearest[place[a]] < 0; };
        for (int a = g.last(size, is_alone); a >= 0; a = g.last(a, is_alone)) {
            int near = -1, most = -1;
            SPARSEWOOD_ROLLED
            for (int b = g.lane(); b < size; b += g.size()) {
                if (b == a) continue;
                int c = common_parts(typename G::Lane{}, code(a), code(b));
                if (c > most) most = c, near = b;
            }
            g.largest(most, near);
            if (g.leader())
                nearest[place[a]] = near < 0 ? -1 : place[near], shared[place[a]] = most;
            g.sync();
        }
    }

  private:
    void find_nearest_by_lists(int size) {
        int32_t alone[FilledSlots::kTogether];
        for (int a = 0, count = 0; a < size; ++a) {
            if (nearest[place[a]] < 0) alone[count++] = place[a], shared[place[a]] = -1;
            if (count < FilledSlots::kTogether && (a + 1 < size || count == 0)) continue;
            filled.compare(alone, count, place, size, [&](int w, int b, int common) {
                int p = alone[w];
                if (place[b] != p && common > shared[p]) shared[p] = common, nearest[p] = place[b];
            });
            count = 0;
        }
    }
};

}  // namespace sparsewood
