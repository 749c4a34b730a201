// The facets of families with few facets.
#pragma once

#include "canonical/facets.h"
#include "canonical/flow.h"
#include "families/chain.h"
#include "families/matching.h"
#include "families/semi_markov.h"
#include "families/subset.h"

namespace sparsewood {

// Structures are paths: flows through a graph whose arcs are the parts.
template <class Family>
struct FlowFacets : CellsAlone {
    bool is_unique(const Family& family, const double* theta, const Pool& pool) const {
        if (family.penalised == family.slots) return true;
        List<double> mass(cells(family), 0.0);
        for (int c = 0; c < pool.count(); ++c) mass[pool.live[c]] = pool.residual[c];
        auto transition = [&](int64_t cell) { return theta[cell]; };
        auto segment = [&](int64_t cell) {
            return mass[cell] > 0 ? theta[cell] - mass[cell] : kForbidden;
        };
        return flow(family, transition, segment).is_unique();
    }

  private:
    template <class Transition, class Segment>
    static Flow flow(const Chain& f, Transition transition, Segment segment) {
        Flow flow(f.steps, f.states);
        for (int t = 0; t < f.steps; ++t) {
            for (int j = 0; t > 0 && j < f.states; ++j)
                for (int k = 0; k < f.states; ++k)
                    flow.add(flow.end(t, j), flow.start(t, k),
                             transition(f.base(f.steps + t - 1) + j * f.states + k), true);
            for (int k = 0; k < f.states; ++k)
                flow.add(flow.start(t, k), flow.end(t + 1, k), segment(f.base(t) + k), false);
        }
        return flow;
    }

    template <class Transition, class Segment>
    static Flow flow(const SemiMarkov& f, Transition transition, Segment segment) {
        Flow flow(f.positions, f.labels);
        for (int t = 0; t < f.positions; ++t)
            for (int k = 0; k < f.labels; ++k) {
                int64_t row = f.base(t) + int64_t(k) * f.width + 1;
                for (int j = 0; t > 0 && j < f.labels; ++j)
                    flow.add(flow.end(t, j), flow.start(t, k), transition(row + f.longest + j),
                             true);
                for (int d = 0; d < f.longest && t + d < f.positions; ++d)
                    flow.add(flow.start(t, k), flow.end(t + d + 1, k), segment(row + d), false);
            }
        return flow;
    }
};

template <>
struct Facets<Chain> : FlowFacets<Chain> {};
template <>
struct Facets<SemiMarkov> : FlowFacets<SemiMarkov> {};

// Every member of the larger side has at most one partner (Birkhoff 1946), and exactly one if both
// sides are equal and all have a partner.
template <bool Partial>
struct Facets<Matching<Partial>> : AllPenalised {
    static constexpr bool kKnown = true;
    static constexpr bool kEmpty = true;
    using Family = Matching<Partial>;

    void begin(Family& family, const double*, Pool& pool) {
        if (!Partial && family.slots == family.width) return;
        for (int j = Partial; j < family.width; ++j)
            pool.add(1, -1, [&](int c) { return pool.live[c] % family.width == j; });
    }
    bool separate(Pool&) { return false; }
};

template <bool Partial>
void forget(Matching<Partial>& family) {
    family.priced = false;
}

// The number of items is within its bounds.
template <>
struct Facets<Subset> : AllPenalised {
    static constexpr bool kKnown = true;
    static constexpr bool kEmpty = true;

    void begin(Subset& family, const double*, Pool& pool) {
        auto in = [&](int c) { return pool.live[c] % 2 == 1; };
        if (family.least >= family.most) return;
        if (family.least > 0) pool.add(-family.least, 1, in);
        if (family.most < family.slots) pool.add(family.most, -1, in);
    }
    bool separate(Pool&) { return false; }
};

}  // namespace sparsewood
