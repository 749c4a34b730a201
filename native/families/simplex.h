// One out of n items.
#pragma once

#include "families/capped_simplex.h"
#include "families/family.h"

namespace sparsewood {

struct Simplex {
    static constexpr bool kEmpty = false;
    static constexpr double kCross = kNever;
    int slots, penalised, rows, width;
    CappedSimplex sparsemax;
    int item;  // the item proposed last

    SPARSEWOOD_HD int64_t base(int) const { return 0; }

    SPARSEWOOD_HD void lay_out(Arena& arena) { sparsemax.lay_out(arena, width); }

    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        int best = g.argmax(table, width);
        if (best < 0) return false;
        if (g.leader()) code[0] = static_cast<int16_t>(best);
        g.sync();
        return true;
    }

    SPARSEWOOD_HD void fix(double* table, int, int option) const { fix_row(table, width, option); }

#ifndef __CUDACC_RTC__
    // The support of sparsemax (Martins & Astudillo 2016).
    int propose(const Thread&, const double* table) {
        item = -1;
        if (sparsemax.project(table, 1, 1, 1) == 0) return 0;
        int count = 0;
        for (int i = 0; i < width; ++i) count += sparsemax.share[i] > 0;
        return count;
    }

    void proposed(const Thread&, int, int16_t* code) {
        do ++item;
        while (!(sparsemax.share[item] > 0));
        code[0] = static_cast<int16_t>(item);
    }
#endif

    // size: n. shape: (n).
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t*, const int64_t*) {
        slots = penalised = rows = 1;
        width = static_cast<int>(size[0]);
    }

    SPARSEWOOD_HD Row row(int) const { return {0, 1, 0, 0}; }

    SPARSEWOOD_HD int64_t part(int, int option) const { return option; }

    template <class G>
    SPARSEWOOD_HD void shift(const G& g, double* table) const {
        int best = g.argmax(table, width);
        if (best < 0) return;
        double top = table[best];
        g.sync();
        for (int i = g.lane(); i < width; i += g.size()) table[i] -= top;
    }

    SPARSEWOOD_HD int64_t event_size() const { return 1; }

    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        if (g.leader()) out[0] = code[0];
    }
};

}  // namespace sparsewood
