// Monotone alignments as walks through a table, scored by their steps (3, N, M): into each cell
// from the left, from above and from the diagonal. See structures/recursions/alignment.py.
#pragma once

#include "sums/chart.h"

namespace sparsewood {

// What both kinds have in common.
struct AlignmentSteps {
    int64_t parts, cells, goal;
    double log_count;
    int used, labels;
    int rows, columns;
    int64_t padded_rows, padded_columns;

    // size: (n, m); shape: (3, N, M).
    SPARSEWOOD_HD void set_table(const int64_t* size, const int64_t* shape) {
        rows = static_cast<int>(size[0]);
        columns = static_cast<int>(size[1]);
        padded_rows = shape[1], padded_columns = shape[2];
        labels = 1;
        used = rows + columns;
        log_count = 0.8815 * used;  // the Delannoy numbers are below (1 + sqrt 2)^(n + m)
    }

    // Calls f(cell, step, part in the caller's array).
    template <class G, class F>
    SPARSEWOOD_HD void each_step(const G& g, F f) const {
        for (int step = 0; step < 3; ++step)
            for (int64_t i = 0; i < rows; ++i)
                for (int64_t j = g.lane(); j < columns; j += g.size())
                    f(i * columns + j, step, (step * padded_rows + i) * padded_columns + j);
    }
};

// Walks from the first cell to the last. The walks to cell (i, j) are the sum over its three steps,
// each after the walks to the cell that it comes from; these are stored in the same order.
struct AlignmentPaths : AlignmentSteps {
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape) {
        set_table(size, shape);
        parts = 3 * int64_t(rows) * columns;
        cells = parts + 3 * int64_t(rows + 1) * (columns + 1);
        goal = before(rows, columns, 2);
    }

    template <class G, class F>
    SPARSEWOOD_HD void each_part(const G& g, F f) const {
        each_step(g, [&](int64_t c, int step, int64_t part) { f(3 * c + step, part); });
    }

    template <bool Back, class F>
    SPARSEWOOD_HD void each_node(F f) const {
        if (!Back) f(Node{0, 0, 0, 1, {{before(0, 0, 2), 0, 1, -1}, {}}});
        int64_t count = int64_t(rows) * columns;
        for (int64_t step = 0; step < count; ++step) {
            int64_t c = Back ? count - 1 - step : step;
            int i = static_cast<int>(c / columns), j = static_cast<int>(c % columns);
            int64_t right = before(i, j + 1, 0), down = before(i + 1, j, 1);
            f(Node{before(i, j, 0), 3 * c, 3, 2,
                   {{before(i + 1, j + 1, 2), 0, 1, -1}, {right, down - right, 2, -1}}});
        }
    }

  private:
    // The walks to the cell from which `step` leads into (i, j).
    SPARSEWOOD_HD int64_t before(int i, int j, int step) const {
        return parts + 3 * (int64_t(i) * (columns + 1) + j) + step;
    }
};

// Sets of cells that increase in both directions, summed over the cells above and left of corner
// (i, j): `any` has all of them, `last` those that use row i - 1, so that each counts once:
//
//     last(i, j) = last(i, j - 1) left + any(i - 1, j - 1) diagonal
//     any(i, j)  = any(i - 1, j) above + last(i, j)
//
// The parts of a cell are left, diagonal, above and 1, which are what the two sums read.
struct GappedSteps : AlignmentSteps {
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape) {
        set_table(size, shape);
        parts = 4 * int64_t(rows) * columns;
        cells = parts + 4 * int64_t(rows + 2) * (columns + 2);
        goal = before(rows + 1, columns + 1, 1);
    }

    template <class G, class F>
    SPARSEWOOD_HD void each_part(const G& g, F f) const {
        const int place[3] = {0, 2, 1};
        each_step(g, [&](int64_t c, int step, int64_t part) { f(4 * c + place[step], part); });
    }

    template <bool Back, class F>
    SPARSEWOOD_HD void each_node(F f) const {
        if (!Back) {
            for (int j = 0; j <= columns; ++j) f(any(0, j, 0, 0, 0));
            for (int i = 1; i <= rows; ++i) f(any(i, 0, 0, 0, 0));
        }
        int64_t count = int64_t(rows) * columns;
        for (int64_t step = 0; step < count; ++step) {
            int64_t c = Back ? count - 1 - step : step;
            int i = static_cast<int>(c / columns) + 1, j = static_cast<int>(c % columns) + 1;
            int64_t right = before(i, j + 1, 0), own = before(i, j, 3);
            Node last{before(i, j, 0), 4 * c, 2, 1, {{right, own - right, 2, -1}, {}}};
            if (!Back) f(Node{0, 0, 0, 1, {{4 * c + 3, 0, 1, -1}, {}}}), f(last);
            f(any(i, j, before(i, j, 2), 4 * c + 2, 2));
            if (Back) f(last);
        }
    }

  private:
    // What the sums at corner (i, j) read: last(i, j - 1), any(i - 1, j - 1), any(i - 1, j) and
    // last(i, j).
    SPARSEWOOD_HD int64_t before(int i, int j, int which) const {
        return parts + 4 * (int64_t(i) * (columns + 2) + j) + which;
    }

    SPARSEWOOD_HD Node any(int i, int j, int64_t a, int64_t b, int count) const {
        int64_t corner = before(i + 1, j + 1, 1), below = before(i + 1, j, 2);
        return {a, b, count, 1, {{corner, below - corner, 2, -1}, {}}};
    }
};

}  // namespace sparsewood
