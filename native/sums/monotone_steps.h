// Monotone paths with a chosen set of steps, scored by their steps (S, N, M): into each cell by
// each step. See structures/recursions/monotone.py.
#pragma once

#include "families/step_set.h"
#include "sums/chart.h"

namespace sparsewood {

// The paths to cell (i, j) are the sum over its steps, each after the paths to the cell that it
// comes from; these are stored in the same order. The first step into a cell where paths start
// comes from outside the table.
struct MonotoneSteps {
    int64_t parts, cells, goal;
    double log_count;
    int used, labels;
    int rows, columns;
    int64_t padded_rows, padded_columns;
    StepSet steps;

    // size: (n, m, steps); shape: (S, N, M).
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape) {
        rows = static_cast<int>(size[0]);
        columns = static_cast<int>(size[1]);
        steps.read(size[2]);
        padded_rows = shape[1], padded_columns = shape[2];
        labels = 1;
        bool always_down = true, always_right = true;
        for (int s = 0; s < steps.count; ++s) {
            always_down &= steps.down[s] > 0;
            always_right &= steps.right[s] > 0;
        }
        used = always_right ? columns : always_down ? rows : rows + columns;
        log_count = used * log(double(steps.count));
        parts = int64_t(steps.count) * rows * columns;
        cells = one() + 3;
        goal = steps.blanks ? one() + 2
                            : before(rows - 1 + steps.down[0], columns - 1 + steps.right[0], 0);
    }

    // Calls f(cell, part in the caller's array).
    template <class G, class F>
    SPARSEWOOD_HD void each_part(const G& g, F f) const {
        for (int s = 0; s < steps.count; ++s)
            for (int64_t i = 0; i < rows; ++i)
                for (int64_t j = g.lane(); j < columns; j += g.size())
                    f((i * columns + j) * steps.count + s,
                      (s * padded_rows + i) * padded_columns + j);
    }

    template <bool Back, class F>
    SPARSEWOOD_HD void each_node(F f) const {
        // With blanks, what leads to the last two rows is what leads from them to the next column.
        Node both_ends{before(rows - 1, columns, 0), one(), 2, 1, {{goal, 0, 1, -1}, {}}};
        if (Back && steps.blanks) f(both_ends);
        if (!Back) {
            f(Node{0, 0, 0, 1, {{one(), 1, 2, -1}, {}}});
            f(Node{0, 0, 0, 1, {{before(0, 0, 0), 0, 1, -1}, {}}});
            if (steps.blanks) f(Node{0, 0, 0, 1, {{before(1, 0, 0), 0, 1, -1}, {}}});
        }
        int64_t count = int64_t(rows) * columns;
        bool direct = steps.count <= kTargets;
        for (int64_t step = 0; step < count; ++step) {
            int64_t c = Back ? count - 1 - step : step;
            int i = static_cast<int>(c / columns), j = static_cast<int>(c % columns);
            Node own{before(i, j, 0), c * steps.count, steps.count, 1,
                     {{alone(c), 0, 1, -1}, {}}};
            if (direct) lead_on(own, i, j, 0);
            if (direct || !Back) f(own);
            if (direct) continue;
            for (int s = 0; s < steps.count; s += kTargets) {
                Node copy{alone(c), one(), 1, 1, {}};
                lead_on(copy, i, j, s);
                f(copy);
            }
            if (Back) f(own);
        }
        if (!Back && steps.blanks) f(both_ends);
    }

  private:
    static constexpr int kTargets = 4;  // cells that a node writes to with two heads

    // The paths to the cell from which a step leads into (i, j).
    SPARSEWOOD_HD int64_t before(int i, int j, int step) const {
        return parts + (int64_t(i) * (columns + StepSet::kReach) + j) * steps.count + step;
    }

    // The paths to cell c, for those with many steps.
    SPARSEWOOD_HD int64_t alone(int64_t c) const {
        return before(rows + StepSet::kReach, 0, 0) + c;
    }

    // Two ones, and the goal of paths with two ends.
    SPARSEWOOD_HD int64_t one() const {
        return alone(steps.count > kTargets ? int64_t(rows) * columns : 0);
    }

    // Writes to the cells that the steps from `begin` on, at most kTargets, lead to from (i, j).
    SPARSEWOOD_HD void lead_on(Node& node, int i, int j, int begin) const {
        int end = begin + kTargets < steps.count ? begin + kTargets : steps.count;
        node.heads = (end - begin + 1) / 2;
        for (int h = 0; h < node.heads; ++h) {
            int s = begin + 2 * h;
            int64_t to = before(i + steps.down[s], j + steps.right[s], s);
            bool two = s + 1 < end;
            int64_t next = two ? before(i + steps.down[s + 1], j + steps.right[s + 1], s + 1) : to;
            node.head[h] = {to, next - to, two ? 2 : 1, -1};
        }
    }
};

}  // namespace sparsewood
