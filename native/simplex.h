// One out of n items.
#pragma once

#include "family.h"

namespace sparsewood {

struct Simplex {
    static constexpr bool kEmpty = false;
    static constexpr double kCross = kNever;
    int slots, penalised, rows, width;

    SPARSEWOOD_HD int64_t base(int) const { return 0; }

    SPARSEWOOD_HD void lay_out(Arena&) {}

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
    // size: n. shape: (n).
    void set_size(const int64_t* size, const int64_t*, const int64_t*) {
        slots = penalised = rows = 1;
        width = static_cast<int>(size[0]);
    }

    Row row(int) const { return {0, 1, 0, 0}; }

    int64_t part(int, int option) const { return option; }

    void shift(double* table) const {
        int best = Thread::argmax(table, width);
        if (best < 0) return;
        double top = table[best];
        for (int i = 0; i < width; ++i) table[i] -= top;
    }

    int64_t event_size() const { return 1; }

    void event(const int16_t* code, int64_t* out) const { out[0] = code[0]; }
#endif
};

}  // namespace sparsewood
