// The charts of families: which part of a chart is which cell of the family's table.
//
// ChartOf<Family> has
//
// - Chart: of sums/; kKnown is false if there is none
// - make(family): the chart for the size of the family
// - pays(family, k): whether the k best take less time by the chart than by Lawler's algorithm
// - each_part(family, chart, f): calls f(part, cell) with the first of the part's labels; the cell
//   is kNothing for steps that score 0 and are no parts
//
// slot_of(family, cell) is the slot to which a cell of the table belongs.
#pragma once

#include "families/alignment.h"
#include "families/binary_trees.h"
#include "families/bounded_trees.h"
#include "families/chain.h"
#include "families/labelled_trees.h"
#include "families/semi_markov.h"
#include "families/simplex.h"
#include "families/subset.h"
#include "families/trees.h"
#include "solver/small_charts.h"
#include "sums/binary_spans.h"
#include "sums/few_children.h"
#include "sums/projective_trees.h"
#include "sums/segment_chart.h"

namespace sparsewood {

constexpr int64_t kNothing = -1;

template <class Family>
int slot_of(const Family& family, int64_t cell) {
    return static_cast<int>(cell / family.width);
}

inline int slot_of(const Chain& chain, int64_t cell) {
    int64_t row = cell / chain.states;
    if (row < chain.steps) return static_cast<int>(row);
    return static_cast<int>(chain.steps + (row - chain.steps) / chain.states);
}

inline int slot_of(const SemiMarkov& segments, int64_t cell) {
    int64_t position = cell / segments.width / segments.labels;
    bool moves = cell % segments.width > segments.longest;
    return static_cast<int>(moves ? segments.positions + position - 1 : position);
}

template <class Family>
struct ChartOf {
    static constexpr bool kKnown = false;
};

struct KnownChart {
    static constexpr bool kKnown = true;

    template <class Family>
    static bool pays(const Family&, int64_t) {
        return true;
    }

    // A chart whose parts are the cells of the table.
    template <class Family, class Chart, class F>
    static void each_part(const Family&, const Chart& chart, F f) {
        for (int64_t c = 0; c < chart.parts; ++c) f(c, c * chart.labels);
    }

    template <class Chart>
    static Chart made(std::initializer_list<int64_t> size, std::initializer_list<int64_t> shape) {
        Chart chart;
        chart.set_size(size.begin(), shape.begin());
        return chart;
    }
};

template <bool SingleRoot>
struct ChartOf<Trees<true, SingleRoot>> : KnownChart {
    using Chart = ProjectiveTrees<SingleRoot>;
    static Chart make(const Trees<true, SingleRoot>& f) {
        return made<Chart>({f.slots}, {f.slots, f.slots + 1, 1});
    }
};

template <bool SingleRoot>
struct ChartOf<LabelledTrees<true, SingleRoot>> : KnownChart {
    using Chart = ProjectiveTrees<SingleRoot>;
    static Chart make(const LabelledTrees<true, SingleRoot>& f) {
        return made<Chart>({f.slots}, {f.slots, f.slots + 1, f.labels});
    }
};

// The time of the chart grows with the square of the children, that of Lawler's algorithm with the
// slots; its oracle rarely needs the bound.
template <bool SingleRoot>
struct ChartOf<BoundedTrees<SingleRoot>> : KnownChart {
    using Chart = FewChildren<SingleRoot>;
    static bool pays(const BoundedTrees<SingleRoot>& f, int64_t k) {
        return int64_t(f.most + 1) * (f.most + 1) < k * f.slots;
    }
    static Chart make(const BoundedTrees<SingleRoot>& f) {
        return made<Chart>({f.slots, f.most}, {f.slots, f.slots + 1});
    }
};

template <>
struct ChartOf<Chain> : KnownChart {
    using Chart = ChainStates;
    static Chart make(const Chain& f) {
        return made<Chart>({f.steps}, {f.steps, f.states, 1 + f.states});
    }

    template <class F>
    static void each_part(const Chain& f, const Chart&, F add) {
        int64_t part = 0, states = f.states;
        for (int t = 0; t < f.steps; ++t)
            for (int64_t k = 0; k < states; ++k) {
                add(part++, f.base(t) + k);
                int64_t move = t > 0 ? f.base(f.steps + t - 1) + k : kNothing;
                for (int64_t j = 0; j < states; ++j, ++part)
                    add(part, t > 0 ? move + j * states : kNothing);
            }
    }
};

template <>
struct ChartOf<SemiMarkov> : KnownChart {
    using Chart = SegmentStates;
    static Chart make(const SemiMarkov& f) {
        return made<Chart>({f.positions}, {f.positions, f.labels, f.longest + f.labels});
    }

    template <class F>
    static void each_part(const SemiMarkov& f, const Chart& chart, F add) {
        int64_t row = f.width - 1;  // in the table after the empty cell
        chart.each_part(Single{}, [&](int64_t part, int64_t at) {
            bool unread = at < f.labels * row && at % row >= f.longest;
            add(part, unread ? kNothing : at + at / row + 1);
        });
    }
};

template <>
struct ChartOf<BinaryTrees> : KnownChart {
    using Chart = BinarySpans;
    static Chart make(const BinaryTrees& f) {
        return made<Chart>({f.words}, {f.words, f.words, f.labels});
    }

    // The slots go through the spans of a row of the chart backwards.
    template <class F>
    static void each_part(const BinaryTrees& f, const Chart&, F add) {
        int64_t cell = 1;
        for (int i = 0; i < f.words; ++i)
            for (int j = f.words - 1; j >= i; --j, cell += f.width)
                add(int64_t(i) * f.words + j, cell);
    }
};

// Rows are the shorter side.
template <>
struct ChartOf<Warping> : KnownChart {
    using Chart = WarpingPaths;
    static Chart make(const Warping& f) { return made<Chart>({f.shorter, f.longer}, {}); }

    template <class F>
    static void each_part(const Warping& f, const Chart&, F add) {
        int64_t part = 0;
        for (int i = 0; i < f.shorter; ++i)
            for (int j = 0; j < f.longer; ++j) add(part++, f.base(i + j) + f.option(i, i + j));
    }
};

template <>
struct ChartOf<GappedAlignment> : KnownChart {
    using Chart = GappedSets;
    static Chart make(const GappedAlignment& f) { return made<Chart>({f.slots, f.width - 1}, {}); }

    template <class F>
    static void each_part(const GappedAlignment& f, const Chart&, F add) {
        int64_t part = 0;
        for (int i = 0; i < f.slots; ++i)
            for (int j = 1; j < f.width; ++j) {
                add(part++, kNothing);
                add(part++, f.base(i) + j);
            }
    }
};

// In these charts taking an item comes before leaving it out. Empty places score 0.
template <>
struct ChartOf<Subset> : KnownChart {
    using Chart = BoundedItems;
    static Chart make(const Subset& f) {
        return made<Chart>({f.slots, f.least < 0 ? 0 : f.least, f.most}, {});
    }

    template <class F>
    static void each_part(const Subset& f, const Chart& chart, F add) {
        for (int64_t c = 0; c < chart.parts; ++c) add(c, c < 2 * f.slots ? c ^ 1 : kNothing);
    }
};

template <>
struct ChartOf<Simplex> : KnownChart {
    using Chart = OneItem;
    static Chart make(const Simplex& f) { return made<Chart>({f.width}, {}); }
};

}  // namespace sparsewood
