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
#include "sums/alignment_steps.h"
#include "sums/binary_spans.h"
#include "sums/few_children.h"
#include "sums/item_sets.h"
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

// Rows are the shorter side. All steps into a cell have its score.
template <>
struct ChartOf<Warping> : KnownChart {
    using Chart = AlignmentPaths;
    static Chart make(const Warping& f) {
        return made<Chart>({f.shorter, f.longer}, {3, f.shorter, f.longer});
    }

    template <class F>
    static void each_part(const Warping& f, const Chart&, F add) {
        int64_t part = 0;
        for (int i = 0; i < f.shorter; ++i)
            for (int j = 0; j < f.longer; ++j)
                for (int step = 0; step < 3; ++step) add(part++, f.base(i + j) + f.option(i, i + j));
    }
};

// Only the diagonal steps are parts.
template <>
struct ChartOf<GappedAlignment> : KnownChart {
    using Chart = GappedSteps;
    static Chart make(const GappedAlignment& f) {
        return made<Chart>({f.slots, f.width - 1}, {3, f.slots, f.width - 1});
    }

    template <class F>
    static void each_part(const GappedAlignment& f, const Chart& chart, F add) {
        int64_t count = int64_t(f.slots) * (f.width - 1);
        chart.each_part(Single{}, [&](int64_t part, int64_t at) {
            int64_t pair = at - 2 * count;  // diagonal steps come last
            add(part, pair < 0 ? kNothing : pair + pair / (f.width - 1) + 1);
        });
    }
};

// Each of the items taken or left out, whatever their number.
struct FreeItems {
    int64_t parts, cells, goal;
    int labels;
    int items;

    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t*) {
        items = static_cast<int>(size[0]);
        labels = 1;
        parts = 2 * int64_t(items);
        goal = sets(items);
        cells = goal + 1;
    }

    template <bool Back, class F>
    SPARSEWOOD_HD void each_node(F f) const {
        f(Node{0, 0, 0, 1, {{sets(0), 1, items > 0 ? 2 : 1, -1}, {}}});
        for (int i = 0; i < items; ++i)
            f(Node{sets(i), 2 * int64_t(i), 2, 1, {{sets(i + 1), 1, i + 1 < items ? 2 : 1, -1}, {}}});
    }

  private:
    // The sets of the first i items, once for each option of the next.
    SPARSEWOOD_HD int64_t sets(int i) const { return parts + 2 * int64_t(i); }
};

// Sets of items by a chart of the kind that their bounds need.
struct BoundedItems {
    int64_t parts, cells, goal;
    int labels;
    bool free;
    FreeItems any;
    ItemSets counted;

    // size: (n, fewest, most).
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape) {
        free = size[1] <= 0 && size[2] == size[0];
        labels = 1;
        any.set_size(size, shape);
        if (!free) counted.set_size(size, shape);
        parts = free ? any.parts : counted.parts;
        cells = free ? any.cells : counted.cells;
        goal = free ? any.goal : counted.goal;
    }

    template <bool Back, class F>
    SPARSEWOOD_HD void each_node(F f) const {
        free ? any.each_node<Back>(f) : counted.each_node<Back>(f);
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

// One of the items.
struct OneItem {
    int64_t parts, cells, goal;
    int labels;

    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t*) {
        parts = size[0];
        labels = 1;
        goal = 2 * parts;
        cells = goal + 1;
    }

    template <bool Back, class F>
    SPARSEWOOD_HD void each_node(F f) const {
        for (int64_t i = 0; i < parts; ++i) f(Node{0, 0, 0, 1, {{parts + i, 0, 1, -1}, {}}});
        f(Node{parts, 0, static_cast<int>(parts), 1, {{goal, 0, 1, -1}, {}}});
    }
};

template <>
struct ChartOf<Simplex> : KnownChart {
    using Chart = OneItem;
    static Chart make(const Simplex& f) { return made<Chart>({f.width}, {}); }
};

}  // namespace sparsewood
