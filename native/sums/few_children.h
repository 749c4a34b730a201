// Projective dependency trees in which no word has more than `most` children; the root may. As in
// structures/recursions/bounded_eisner.py, every sum also counts children:
//
// - full: a head and its subtree on one side, with as many children there
// - open: a head and a child, with the children of the head on this side and those of the child on
//   the inner side
// - room: full(0) + ... + full(most - c), the other side of a child that has c on its inner side
//
// Each table has row i for what starts at i, right of the diagonal, and row j for what ends at j,
// left of it: heads at the start and heads at the end, but for rooms the children at the end and
// those at the start.
#pragma once

#include "sums/chart.h"

namespace sparsewood {

template <bool SingleRoot>
struct FewChildren {
    int64_t parts, cells, goal;
    double log_count;
    int used, labels;
    int words, most, padded;

    // size: (n, most); shape: (N, N + 1).
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape) {
        words = used = static_cast<int>(size[0]);
        most = static_cast<int>(size[1]);
        padded = static_cast<int>(shape[0]);
        labels = 1;
        parts = int64_t(words) * side();
        goal = SingleRoot ? roots(words) + 1 : full(0, 0, words);
        cells = roots(words) + 2;
        log_count = 1.91 * words;  // C(3n, n) < 6.75^n
    }

    template <class G, class F>
    SPARSEWOOD_HD void each_part(const G& g, F f) const {
        for (int64_t i = 0; i < words; ++i)
            for (int h = g.lane(); h < side(); h += g.size())
                f(i * side() + h, i * (padded + 1) + h);
    }

    template <bool Back, class F>
    SPARSEWOOD_HD void each_node(F f) const {
        const int first = SingleRoot ? 1 : 0;
        if (!Back) {
            for (int c = 0; c < ones_count(); ++c) f(one(ones(c)));
            for (int i = first; i <= words; ++i) {
                f(one(full(0, i, i))), f(one(by_count(i, i, 0)));
                for (int c = 0; c <= most; ++c) f(one(room(i, i, c)));
            }
        }
        if (SingleRoot && Back) join_root<Back>(f);
        for (int step = 1; step <= words - first; ++step) {
            int width = Back ? words - first + 1 - step : step;
            for (int i = first; i + width <= words; ++i) {
                if (!Back) join(i, i + width, f);
                if (Back) make_room(i, i + width, f);
                complete(i, i + width, f);
                if (!Back) make_room(i, i + width, f);
                if (Back) join(i, i + width, f);
            }
        }
        if (SingleRoot && !Back) join_root<Back>(f);
    }

  private:
    SPARSEWOOD_HD int side() const { return words + 1; }
    SPARSEWOOD_HD int counts() const { return most + 1; }
    SPARSEWOOD_HD int ones_count() const { return words > most ? words : counts(); }
    SPARSEWOOD_HD int64_t arc(int head, int word) const { return int64_t(word - 1) * side() + head; }
    SPARSEWOOD_HD int64_t table(int which) const {
        return parts + int64_t(which) * side() * side();
    }
    // Full spans by count, row and column, and the same by row, column and count.
    SPARSEWOOD_HD int64_t full(int count, int row, int column) const {
        return table(count) + int64_t(row) * side() + column;
    }
    SPARSEWOOD_HD int64_t by_count(int row, int column, int count) const {
        return table(counts()) + (int64_t(row) * side() + column) * counts() + count;
    }
    SPARSEWOOD_HD int64_t room(int row, int column, int count) const {
        return table(2 * counts()) + (int64_t(row) * side() + column) * counts() + count;
    }
    SPARSEWOOD_HD int64_t open(int count, int row, int column, int inner) const {
        return table((3 + count) * counts()) + (int64_t(row) * side() + column) * counts() + inner;
    }
    SPARSEWOOD_HD int64_t ones(int k) const { return table((3 + counts()) * counts()) + k; }
    SPARSEWOOD_HD int64_t roots(int r) const { return ones(ones_count()) + r; }

    SPARSEWOOD_HD Node one(int64_t cell) const { return {0, 0, 0, 1, {{cell, 0, 1, -1}, {}}}; }

    // The arcs between i and j, the root never a dependent and its children not counted.
    template <class F>
    SPARSEWOOD_HD void join(int i, int j, F f) const {
        for (int c = 0; c <= (i > 0 ? most : 0); ++c)
            for (int d = 0; d <= most; ++d) {
                Node node{full(c, i, i), full(d, j, i + 1), j - i, 0, {}};
                int count = i > 0 ? c + 1 : 0;
                if (count <= most)
                    node.head[node.heads++] = {open(count, i, j, d), 0, 1, arc(i, j)};
                if (i > 0 && d < most)
                    node.head[node.heads++] = {open(d + 1, j, i, c), 0, 1, arc(j, i)};
                if (node.heads > 0) f(node);
            }
    }

    template <class F>
    SPARSEWOOD_HD void complete(int i, int j, F f) const {
        int count = (j - i) * counts();
        for (int c = i > 0; c <= (i > 0 ? most : 0); ++c) {
            f(Node{open(c, i, i + 1, 0), room(j, i + 1, 0), count, 1, {copies(c, i, j), {}}});
            if (i > 0) f(Node{room(i, i, 0), open(c, j, i, 0), count, 1, {copies(c, j, i), {}}});
        }
    }

    SPARSEWOOD_HD Head copies(int c, int row, int column) const {
        return {full(c, row, column), by_count(row, column, c) - full(c, row, column), 2, -1};
    }

    // For a child i whose subtree goes on to j, and for a child j whose subtree begins at i.
    template <class F>
    SPARSEWOOD_HD void make_room(int i, int j, F f) const {
        for (int c = 0; i > 0 && c <= most; ++c) {
            int count = counts() - c;
            f(Node{by_count(i, j, 0), ones(0), count, 1, {{room(j, i, c), 0, 1, -1}, {}}});
            f(Node{by_count(j, i, 0), ones(0), count, 1, {{room(i, j, c), 0, 1, -1}, {}}});
        }
    }

    // The one child of the root, by its children on the left and the room on its right.
    template <bool Back, class F>
    SPARSEWOOD_HD void join_root(F f) const {
        Node all{roots(1), ones(0), words, 1, {{goal, 0, 1, -1}, {}}};
        if (Back) f(all);
        for (int r = 1; r <= words; ++r)
            f(Node{by_count(r, 1, 0), room(words, r, 0), counts(), 1,
                   {{roots(r), 0, 1, arc(0, r)}, {}}});
        if (!Back) f(all);
    }
};

}  // namespace sparsewood
