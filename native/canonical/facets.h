// The inequalities that bound the polytope of a family, for canonical weights (by_facets.h).
//
// That a part has no negative mass is one for each cell of the table. The others say that a number
// which is never negative for a structure, constant + sign * (how many of some cells it uses), is
// not negative on average. `Facets<Family>` knows those of a family:
//
// - kKnown: there is such a description, and what follows.
// - kEmpty: that a slot is empty is a cell like any other.
// - begin(family, theta, pool): adds those to begin with: all, or those that are likely to be met.
// - separate(pool): adds those that are violated by what is in the pool. False: there are none.
// - is_unique(family, theta, pool): before begin(), whether the marginals of all parts follow from
//   those that carry a penalty.
#pragma once

#include <cstdint>

#include "families/family.h"
#include "group/list.h"

namespace sparsewood {

using Bits = List<uint64_t>;

inline void set_bit(Bits& bits, int i) { bits[i / 64] |= uint64_t{1} << i % 64; }
inline bool has_bit(const Bits& bits, int i) { return bits[i / 64] >> i % 64 & 1; }
inline Bits no_bits(int count) { return Bits(count / 64 + 1); }

// Without a table, and without the machine's own instruction, which not all have.
inline int count_bits(uint64_t x) {
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return static_cast<int>(x * 0x0101010101010101u >> 56);
}

inline int count_common(const Bits& a, const Bits& b) {
    int count = 0;
    for (size_t i = 0; i < a.size(); ++i) count += count_bits(a[i] & b[i]);
    return count;
}

struct Facet {
    Bits cells;  // of the pool
    int constant, sign;
    List<double> slack;  // (steps + 1) before each step, and after the last
    bool tight = false;         // after the last; and so it stays

    // How far a structure is from the facet, an integer.
    int distance(const Bits& structure) const {
        return constant + sign * count_common(cells, structure);
    }
};

// The cells that have mass, how much is left of it, and inequalities on them.
struct Pool {
    List<int32_t> live;     // where they are in the table, rising
    List<double> residual;  // (live)
    double mass = 1;               // of the structures that make up the residual
    List<Facet> facets;

    // Below it a number that ought to be 0 is: what rounding leaves is less by far, and what
    // structures weigh is more, except by accident.
    static constexpr double kZero = 1e-12;
    // An inequality that fails by more is violated.
    static constexpr double kViolated = 4 * kZero;

    int count() const { return static_cast<int>(live.size()); }

    // Adds an inequality on the cells for which holds(number among the live ones) is true.
    template <class Holds>
    Facet& add(int constant, int sign, Holds holds) {
        facets.push_back({no_bits(count()), constant, sign, {}});
        for (int c = 0; c < count(); ++c)
            if (holds(c)) set_bit(facets.back().cells, c);
        return facets.back();
    }

    // Of masses (live).
    double slack(const Facet& facet, const List<double>& masses, double whole) const {
        double sum = 0;
        for (int c = 0; c < count(); ++c)
            if (has_bit(facet.cells, c)) sum += masses[c];
        return facet.constant * whole + facet.sign * sum;
    }

    // Takes back the last facet unless it is tight now.
    bool keep_if_tight() {
        bool tight = slack(facets.back(), residual, mass) <= kZero;
        if (!tight) facets.pop_back();
        return tight;
    }
};

template <class Family>
struct Facets {
    static constexpr bool kKnown = false;
};

template <class Family>
Facets<Family> facets_of(const Family&) {
    return {};
}

// Where all parts carry a penalty.
struct AllPenalised {
    template <class Family>
    bool is_unique(const Family&, const double*, const Pool&) const {
        return true;
    }
};

// Families whose polytope has no other inequalities than those of its cells.
struct CellsAlone : AllPenalised {
    static constexpr bool kKnown = true;
    static constexpr bool kEmpty = false;

    template <class Family>
    void begin(Family&, const double*, Pool&) {}
    bool separate(Pool&) { return false; }
};

// The most parts that a structure has.
template <class Family>
int most_parts(const Family& family) {
    return family.slots;
}

// After scores of another size by far: what an oracle remembers of the last ones is of no use.
template <class Family>
void forget(Family&) {}

}  // namespace sparsewood
