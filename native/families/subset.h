// Sets of at least `least` and at most `most` items: exactly k, at most k, or any number.
//
// A code has a slot per item, which is 1 if the item is in the set. Its row is (0, score).
#pragma once

#include "families/capped_simplex.h"
#include "families/family.h"

namespace sparsewood {

struct Subset {
    static constexpr bool kEmpty = true;
    static constexpr double kCross = kAlways;
    int slots, penalised, rows, width;
    int least, most;
    int32_t* order;  // (slots) items to choose from, the chosen ones first; for cross() too
    CappedSimplex projection;

    SPARSEWOOD_HD int64_t base(int slot) const { return 2 * int64_t(slot); }

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        lay_out_cross(arena);
        projection.lay_out(arena, slots);
    }
    SPARSEWOOD_HD void lay_out_cross(Arena& arena) { order = arena.take<int32_t>(slots); }

    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        if (g.leader()) {
            for (int i = 0; i < slots; ++i) order[i] = i;
            int chosen = choose(table, slots, least, most);
            for (int c = 0; c < slots; ++c) code[order[c]] = c < chosen;
        }
        g.sync();
        for (int i = 0; i < slots; ++i)
            if (table[base(i) + code[i]] == kForbidden) return false;
        return true;
    }

    // Keeps common items, and chooses the best of the others.
    SPARSEWOOD_HD double cross(const double* table, int16_t* a, const int16_t* b) {
        int count = 0, common = 0;
        for (int i = 0; i < slots; ++i) {
            if (a[i] != b[i]) order[count++] = i;
            common += a[i] & b[i];
        }
        int chosen = choose(table, count, least - common, most - common);
        double gain = 0;
        for (int c = 0; c < count; ++c)
            gain += ((c < chosen) - a[order[c]]) * table[2 * int64_t(order[c]) + 1];
        if (!(gain > 0)) return 0;
        for (int c = 0; c < count; ++c) a[order[c]] = c < chosen;
        return gain;
    }

    // If an item must be in the set, its empty cell is forbidden.
    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        fix_row(table + base(slot), 2, option);
    }

#ifndef __CUDACC_RTC__
    int propose(const Thread&, const double* table) {
        return projection.project(table + 1, 2, least, most);
    }

    void proposed(const Thread&, int c, int16_t* code) {
        projection.write(c, [&](int i, bool in) { code[i] = in; });
    }
#endif

    // size: n. shape: (n). options: minimum and maximum number of items, -1 for all.
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape, const int64_t* options) {
        slots = penalised = rows = static_cast<int>(size[0]);
        width = 2;
        least = static_cast<int>(options[0]);
        most = options[1] < 0 || options[1] > slots ? slots : static_cast<int>(options[1]);
        padded = shape[0];
    }

    SPARSEWOOD_HD Row row(int r) const { return {r, 1, 0, 0}; }

    SPARSEWOOD_HD int64_t part(int slot, int option) const { return option == 0 ? -1 : slot; }

    // Every set of exactly k items loses k times the constant.
    template <class G>
    SPARSEWOOD_HD void shift(const G& g, double* table) const {
        if (least >= most) shift_in(g, table, slots);
    }

    SPARSEWOOD_HD int64_t event_size() const { return padded; }

    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        for (int64_t i = g.lane(); i < padded; i += g.size()) out[i] = i < slots ? code[i] : 0;
    }

  private:
    int64_t padded;  // items in the caller's array

    // Moves the best of the first `count` items of `order` to the front: those that score above 0,
    // but at least `fewest` and at most `largest`. Returns their number.
    SPARSEWOOD_HD int choose(const double* table, int count, int fewest, int largest) {
        int positive = 0;
        for (int c = 0; c < count; ++c)
            if (value(table, order[c]) > 0) swap(positive++, c);
        if (positive > largest) {
            select(table, 0, positive, largest);
            return largest;
        }
        if (positive < fewest) {
            select(table, positive, count, fewest);
            return fewest;
        }
        return positive;
    }

    // Partitions order[from, to) so that the best are left of `middle` (Hoare 1961, "Find").
    SPARSEWOOD_HD void select(const double* table, int from, int to, int middle) {
        int low = from, high = to - 1;
        while (low < middle && middle <= high) {
            int pivot = order[low + (high - low) / 2], i = low, j = high;
            while (i <= j) {
                while (is_better(table, order[i], pivot)) ++i;
                while (is_better(table, pivot, order[j])) --j;
                if (i <= j) swap(i++, j--);
            }
            if (middle <= j)
                high = j;
            else if (middle > i)
                low = i;
            else
                return;
        }
    }

    static SPARSEWOOD_HD double value(const double* table, int item) {
        const double* cells = table + 2 * int64_t(item);
        return cells[0] == kForbidden ? -kForbidden : cells[1];
    }

    // A total order: ties go to the first item.
    static SPARSEWOOD_HD bool is_better(const double* table, int i, int j) {
        double a = value(table, i), b = value(table, j);
        return a > b || (a == b && i < j);
    }

    SPARSEWOOD_HD void swap(int c, int d) {
        int32_t item = order[c];
        order[c] = order[d];
        order[d] = item;
    }
};

SPARSEWOOD_HD inline int most_parts(const Subset& family) { return family.most; }

}  // namespace sparsewood
