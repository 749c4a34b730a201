// The inequalities that bound the polytope of a family, for canonical weights (by_facets.h).
//
// Each cell of the table gives one inequality: its mass is nonnegative. The others state that
// constant + sign * (how many of some cells a structure uses), which is nonnegative for every
// structure, is nonnegative on average. `Facets<Family>` describes the facets of a family:
//
// - kKnown: whether the facets are known; only then the following members exist.
// - kEmpty: whether an empty slot counts as a cell.
// - begin(family, theta, pool): adds the initial facets: all, or those that are likely to be tight.
// - separate(pool): adds facets that the pool violates. False: there are none.
// - is_unique(family, theta, pool): before begin(), whether the penalised marginals determine the
//   marginals of all parts.
#pragma once

#include <cstdint>

#include "families/family.h"
#include "group/list.h"

namespace sparsewood {

using Bits = List<uint64_t>;

inline void set_bit(Bits& bits, int i) { bits[i / 64] |= uint64_t{1} << i % 64; }
inline bool has_bit(const Bits& bits, int i) { return bits[i / 64] >> i % 64 & 1; }
inline Bits no_bits(int count) { return Bits(count / 64 + 1); }

// Portable: the popcount instruction is not available on all machines.
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
    List<double> slack;  // (steps + 1) before each step and after the last
    bool tight = false;         // after the last step; a tight facet stays tight

    // The slack of a structure, an integer.
    int distance(const Bits& structure) const {
        return constant + sign * count_common(cells, structure);
    }
};

// The cells with mass, their remaining mass, and inequalities on them.
struct Pool {
    List<int32_t> live;     // indices into the table, increasing
    List<double> residual;  // (live)
    double mass = 1;               // total weight of the structures in the residual
    List<Facet> facets;

    // Numbers below it count as 0: rounding errors are far smaller, weights of structures larger.
    static constexpr double kZero = 1e-12;
    // An inequality counts as violated if it fails by more.
    static constexpr double kViolated = 4 * kZero;

    int count() const { return static_cast<int>(live.size()); }

    // Adds an inequality on the live cells for which holds(index) is true.
    template <class Holds>
    Facet& add(int constant, int sign, Holds holds) {
        facets.push_back({no_bits(count()), constant, sign, {}});
        for (int c = 0; c < count(); ++c)
            if (holds(c)) set_bit(facets.back().cells, c);
        return facets.back();
    }

    // The slack of a facet for masses (live).
    double slack(const Facet& facet, const List<double>& masses, double whole) const {
        double sum = 0;
        for (int c = 0; c < count(); ++c)
            if (has_bit(facet.cells, c)) sum += masses[c];
        return facet.constant * whole + facet.sign * sum;
    }

    // Removes the last facet unless it is tight.
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

// For families in which all parts carry a penalty.
struct AllPenalised {
    template <class Family>
    bool is_unique(const Family&, const double*, const Pool&) const {
        return true;
    }
};

// For families whose polytope is described by nonnegativity of the cells.
struct CellsAlone : AllPenalised {
    static constexpr bool kKnown = true;
    static constexpr bool kEmpty = false;

    template <class Family>
    void begin(Family&, const double*, Pool&) {}
    bool separate(Pool&) { return false; }
};

// Clears what an oracle remembers of previous scores, which were of a very different magnitude.
template <class Family>
void forget(Family&) {}

}  // namespace sparsewood
