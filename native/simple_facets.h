// The facets of families that have few.
#pragma once

#include "chain.h"
#include "facets.h"
#include "matching.h"
#include "semi_markov.h"
#include "simplex.h"
#include "subset.h"

namespace sparsewood {

// Paths: flows through a graph whose arcs are the parts (for one slot: items).
template <>
struct Facets<Simplex> : CellsAlone {};
template <>
struct Facets<Chain> : CellsAlone {};
template <>
struct Facets<SemiMarkov> : CellsAlone {};

// No member of the larger side has more than one partner (Birkhoff 1946). Where both sides are
// equal and all have a partner, none has less.
template <bool Partial>
struct Facets<Matching<Partial>> {
    static constexpr bool kKnown = true;
    static constexpr bool kEmpty = true;
    using Family = Matching<Partial>;

    void begin(Family& family, const ActiveSet<Family>&, Pool& pool) {
        if (!Partial && family.slots == family.width) return;
        for (int j = Partial; j < family.width; ++j)
            pool.add(1, -1, [&](int c) {
                return pool.live[c] % family.width == j;
            });
    }
    bool separate(Pool&) { return false; }
};

template <bool Partial>
void forget(Matching<Partial>& family) {
    family.priced = false;
}

// As many items as allowed.
template <>
struct Facets<Subset> {
    static constexpr bool kKnown = true;
    static constexpr bool kEmpty = true;

    void begin(Subset& family, const ActiveSet<Subset>&, Pool& pool) {
        auto in = [&](int c) { return pool.live[c] % 2 == 1; };
        if (family.least >= family.most) return;
        if (family.least > 0) pool.add(-family.least, 1, in);
        if (family.most < family.slots) pool.add(family.most, -1, in);
    }
    bool separate(Pool&) { return false; }
};

}  // namespace sparsewood
