// Charts of alignments and of sets of items for the k best. Sums need larger ones, as they shift
// scores and count empty places.
#pragma once

#include "sums/item_sets.h"

namespace sparsewood {

// Paths by steps of dynamic time warping. The walks that reach a cell are stored once for each of
// the three cells that they can go on to; see sums/alignment_steps.h.
struct WarpingPaths {
    static constexpr int labels = 1;
    int64_t parts, cells, goal;
    int rows, columns;

    // size: (n, m).
    void set_size(const int64_t* size, const int64_t*) {
        rows = static_cast<int>(size[0]);
        columns = static_cast<int>(size[1]);
        parts = int64_t(rows) * columns;
        cells = before(rows + 1, 0, 0);
        goal = before(rows, columns, 2);
    }

    template <bool Back, class F>
    void each_node(F f) const {
        f(Node{0, 0, 0, 2, {{parts, 1, 3, -1}, {before(0, 0, 2), 0, 1, -1}}});
        int64_t cell = 0;
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j, ++cell) {
                int64_t right = before(i, j + 1, 0), down = before(i + 1, j, 1);
                f(Node{before(i, j, 0), parts, 3, 2,
                       {{before(i + 1, j + 1, 2), 0, 1, cell}, {right, down - right, 2, cell}}});
            }
    }

  private:
    // The walks to the cell from which `step` leads into (i, j), after three cells that are 1.
    int64_t before(int i, int j, int step) const {
        return parts + 3 + 3 * (int64_t(i) * (columns + 1) + j) + step;
    }
};

// Increasing sets of cells: `last` and `any` of sums/alignment_steps.h, with a step that is no part
// before each part.
struct GappedSets {
    static constexpr int labels = 1;
    int64_t parts, cells, goal;
    int rows, columns;

    // size: (n, m).
    void set_size(const int64_t* size, const int64_t*) {
        rows = static_cast<int>(size[0]);
        columns = static_cast<int>(size[1]);
        parts = 2 * int64_t(rows) * columns;
        cells = before(rows + 2, 0, 0);
        goal = before(rows + 1, columns + 1, 1);
    }

    template <bool Back, class F>
    void each_node(F f) const {
        f(Node{0, 0, 0, 1, {{parts, 1, 2, -1}, {}}});
        for (int j = 0; j <= columns; ++j) f(any(0, j, 0));
        for (int i = 1; i <= rows; ++i) f(any(i, 0, 0));
        int64_t part = 0;
        for (int i = 1; i <= rows; ++i)
            for (int j = 1; j <= columns; ++j, part += 2) {
                int64_t right = before(i, j + 1, 0), own = before(i, j, 3);
                f(Node{before(i, j, 0), part, 2, 1, {{right, own - right, 2, -1}, {}}});
                f(any(i, j, 2));
            }
    }

  private:
    // What the sums at corner (i, j) read: last(i, j - 1), any(i - 1, j - 1), any(i - 1, j) and
    // last(i, j), after two cells that are 1.
    int64_t before(int i, int j, int which) const {
        return parts + 2 + 4 * (int64_t(i) * (columns + 2) + j) + which;
    }

    Node any(int i, int j, int count) const {
        int64_t corner = before(i + 1, j + 1, 1), below = before(i + 1, j, 2);
        return {before(i, j, 2), parts, count, 1, {{corner, below - corner, 2, -1}, {}}};
    }
};

// Each of the items taken or left out, whatever their number.
struct FreeItems {
    int64_t parts, cells, goal;
    int labels;
    int items;

    void set_size(const int64_t* size, const int64_t*) {
        items = static_cast<int>(size[0]);
        labels = 1;
        parts = 2 * int64_t(items);
        goal = sets(items);
        cells = goal + 1;
    }

    template <bool Back, class F>
    void each_node(F f) const {
        f(Node{0, 0, 0, 1, {{sets(0), 1, items > 0 ? 2 : 1, -1}, {}}});
        for (int i = 0; i < items; ++i)
            f(Node{sets(i), 2 * int64_t(i), 2, 1, {{sets(i + 1), 1, i + 1 < items ? 2 : 1, -1}, {}}});
    }

  private:
    // The sets of the first i items, once for each option of the next.
    int64_t sets(int i) const { return parts + 2 * int64_t(i); }
};

// Sets of items by a chart of the kind that their bounds need.
struct BoundedItems {
    int64_t parts, cells, goal;
    int labels;
    bool free;
    FreeItems any;
    ItemSets counted;

    // size: (n, fewest, most).
    void set_size(const int64_t* size, const int64_t* shape) {
        free = size[1] <= 0 && size[2] == size[0];
        labels = 1;
        any.set_size(size, shape);
        if (!free) counted.set_size(size, shape);
        parts = free ? any.parts : counted.parts;
        cells = free ? any.cells : counted.cells;
        goal = free ? any.goal : counted.goal;
    }

    template <bool Back, class F>
    void each_node(F f) const {
        free ? any.each_node<Back>(f) : counted.each_node<Back>(f);
    }
};

// One of the items.
struct OneItem {
    int64_t parts, cells, goal;
    int labels;

    void set_size(const int64_t* size, const int64_t*) {
        parts = size[0];
        labels = 1;
        goal = 2 * parts;
        cells = goal + 1;
    }

    template <bool Back, class F>
    void each_node(F f) const {
        for (int64_t i = 0; i < parts; ++i) f(Node{0, 0, 0, 1, {{parts + i, 0, 1, -1}, {}}});
        f(Node{parts, 0, static_cast<int>(parts), 1, {{goal, 0, 1, -1}, {}}});
    }
};

}  // namespace sparsewood
