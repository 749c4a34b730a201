// Projective dependency trees: the inside algorithm of Eisner (1996) on positions 0..n, position 0
// the root. As in families/eisner.h, with splits summed:
//
//     inner(i, j) = sum_m  right(i, m) left(m + 1, j)
//     open(i -> j) = inner(i, j) arc(i -> j),    open(j -> i) = inner(i, j) arc(j -> i)
//     right(i, j) = sum_m  open(i -> m) right(m, j)         (headed by i)
//     left(i, j)  = sum_m  left(i, m) open(j -> m)          (headed by j)
//
// Each table has row i for what starts at i, right of the diagonal, and row j for what ends at j,
// left of it. With SingleRoot the chart covers the words alone.
#pragma once

#include "sums/chart.h"

namespace sparsewood {

template <bool SingleRoot>
struct ProjectiveTrees {
    int64_t parts, cells, goal;
    double log_count;
    int used, labels;
    int words, padded;

    // size: (n); shape: (N, N + 1, L).
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape) {
        words = used = static_cast<int>(size[0]);
        padded = static_cast<int>(shape[0]);
        labels = static_cast<int>(shape[2]);
        parts = int64_t(words) * side();
        goal = SingleRoot ? roots() + side() : right(0, words);
        cells = roots() + (SingleRoot ? side() + 1 : 0);
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
        if (!Back)
            for (int i = first; i <= words; ++i)
                f(Node{0, 0, 0, 2, {{right(i, i), 0, 1, -1}, {left(i, i), 0, 1, -1}}});
        if (SingleRoot && Back) join_root<Back>(f);
        for (int step = 1; step <= words - first; ++step) {
            int width = Back ? words - first + 1 - step : step;
            for (int i = first; i + width <= words; ++i) {
                if (!Back) join(i, i + width, f);
                complete(i, i + width, f);
                if (Back) join(i, i + width, f);
            }
        }
        if (SingleRoot && !Back) join_root<Back>(f);
    }

  private:
    SPARSEWOOD_HD int side() const { return words + 1; }
    SPARSEWOOD_HD int64_t arc(int head, int word) const { return int64_t(word - 1) * side() + head; }
    SPARSEWOOD_HD int64_t at(int table, int row, int column) const {
        return parts + (int64_t(table) * side() + row) * side() + column;
    }
    SPARSEWOOD_HD int64_t right(int row, int column) const { return at(0, row, column); }
    SPARSEWOOD_HD int64_t left(int row, int column) const { return at(1, row, column); }
    SPARSEWOOD_HD int64_t open(int row, int column) const { return at(2, row, column); }
    SPARSEWOOD_HD int64_t roots() const { return at(3, 0, 0); }
    // From [i][j] of a table to [j][i].
    SPARSEWOOD_HD int64_t mirror(int i, int j) const { return int64_t(j - i) * (side() - 1); }

    // The arcs between i and j, the root never a dependent.
    template <class F>
    SPARSEWOOD_HD void join(int i, int j, F f) const {
        Node node{right(i, i), left(j, i + 1), j - i, i > 0 ? 2 : 1, {}};
        node.head[0] = {open(i, j), 0, 1, arc(i, j)};
        node.head[1] = {open(j, i), 0, 1, i > 0 ? arc(j, i) : -1};
        f(node);
    }

    template <class F>
    SPARSEWOOD_HD void complete(int i, int j, F f) const {
        int64_t step = mirror(i, j);
        f(Node{open(i, i + 1), right(j, i + 1), j - i, 1, {{right(i, j), step, 2, -1}, {}}});
        if (i > 0) f(Node{left(i, i), open(j, i), j - i, 1, {{left(i, j), step, 2, -1}, {}}});
    }

    // The one child of the root: what is left of it and below it times its arc, what is right of it.
    template <bool Back, class F>
    SPARSEWOOD_HD void join_root(F f) const {
        Node all{roots() + 1, right(words, 1), words, 1, {{goal, 0, 1, -1}, {}}};
        if (Back) f(all);
        for (int r = 1; r <= words; ++r)
            f(Node{left(1, r), right(1, 1), 1, 1, {{roots() + r, 0, 1, arc(0, r)}, {}}});
        if (!Back) f(all);
    }
};

}  // namespace sparsewood
