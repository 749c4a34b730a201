// What a solve starts from: scores without ties, and the structures that a closed form proposes.
#pragma once

#include "solver/active_set.h"

namespace sparsewood {

// A fixed pseudo-random number in [0, 1) for each part (the finaliser of MurmurHash3).
SPARSEWOOD_HD inline double fraction(int64_t part) {
    uint32_t x = static_cast<uint32_t>(part) + 1;
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return (x ^ (x >> 16)) / 4294967296.0;
}

// tilted <- theta with ties broken by less than `tilt`, in the penalised cells: these distinguish
// structures.
template <class G, class Family>
SPARSEWOOD_HD void break_ties(const G& g, const Family& family, const double* theta, double tilt,
                              double* tilted) {
    int64_t count = penalised_cells(family);
    for (int64_t c = g.lane(); c < count; c += g.size()) {
        bool empty = Family::kEmpty && c % family.width == 0;
        tilted[c] = empty ? 0 : theta[c] + tilt * fraction(c);
    }
}

// Writes the structure from which a set begins to `set.origin`: the first of the proposals, if
// there are any. Otherwise find(code), which may fail, writes it.
template <class G, class Family, class Find>
SPARSEWOOD_HD bool begin_set(const G& g, ActiveSet<Family>& set, int proposals, Find find) {
    if (proposals > 0)
        proposed(set.codes.family, g, 0, set.origin, 0);
    else if (!find(set.origin))
        return false;
    set.begin(g);
    return true;
}

// Adds the other proposals. code: (stride) scratch.
template <class G, class Family>
SPARSEWOOD_HD void add_proposals(const G& g, ActiveSet<Family>& set, int proposals, int16_t* code) {
    for (int i = set.codes.slots + g.lane(); i < set.codes.stride; i += g.size()) code[i] = 0;
    for (int c = 1; c < proposals; ++c) {
        proposed(set.codes.family, g, c, code, 0);
        set.append_next(g, code, c == 1);
    }
}

}  // namespace sparsewood
