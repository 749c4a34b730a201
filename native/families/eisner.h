// MAP oracle for projective dependency trees in O(n^3) (Eisner 1996).
//
// Chart over positions i <= j, position 0 the root, in four tables:
//   open right   i -> j with everything between attached      (an arc)
//   open left    i <- j
//   full right   subtree of i reaching right to j             (a half-subtree)
//   full left    subtree of j reaching left to i
// Each recurrence is a maximum over a sum of two contiguous rows, so the tables that
// are read along their first index are stored transposed as well. Split points are not
// stored: walking back recomputes the n that matter.
//
// With SingleRoot the chart covers only the words, and the child of the root is the word r that
// maximises full_left(1, r) + full_right(r, n) + score(root -> r).
#pragma once

#include "families/max_plus.h"

namespace sparsewood {

struct Eisner {
    int words;
    int side;              // n + 1
    double* open_right;    // [i][j]
    double* open_left_t;   // [j][i]
    double* full_right;    // [i][j]
    double* full_right_t;  // [j][i]
    double* full_left;     // [i][j]
    double* full_left_t;   // [j][i]
    int16_t* stack;        // (2 n + 2, 3) spans to walk back

    SPARSEWOOD_HD void lay_out(Arena& arena, int n) {
        words = n;
        side = n + 1;
        int64_t cells = int64_t(side) * side;
        open_right = arena.take<double>(cells);
        open_left_t = arena.take<double>(cells);
        full_right = arena.take<double>(cells);
        full_right_t = arena.take<double>(cells);
        full_left = arena.take<double>(cells);
        full_left_t = arena.take<double>(cells);
        stack = arena.take<int16_t>(3 * (2 * n + 2));
    }

    // scores: (n, n + 1), forbidden arcs kForbidden. Writes tree (n). False if none is left.
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD bool argmax(const G& g, const double* scores, int16_t* tree) {
        int first = SingleRoot ? 1 : 0;
        for (int i = first + g.lane(); i < side; i += g.size()) set_full(i, i, 0.0, 0.0);
        g.sync();
        for (int width = 1; width < side - first; ++width) {
            if (width % 16 == 0 || words > kLong) g.poll();
            for (int i = first + g.lane(); i + width < side; i += g.size()) {
                int j = i + width;
                double base = best_sum(full_right + at(i, i), full_left_t + at(j, i + 1), width);
                open_right[at(i, j)] = base + scores[at(j - 1, i)];
                open_left_t[at(j, i)] = i == 0 ? kForbidden : base + scores[at(i - 1, j)];
                double right =
                    best_sum(open_right + at(i, i + 1), full_right_t + at(j, i + 1), width);
                double left = best_sum(full_left + at(i, i), open_left_t + at(j, i), width);
                set_full(i, j, right, left);
            }
            g.sync();
        }
        int root_child = SingleRoot ? best_root_child(scores) : 0;
        if (root_child < 0 || full_right[at(root_child, words)] == kForbidden) return false;
        if (g.leader()) {
            int depth = push(0, root_child, words, kFullRight);
            if (SingleRoot) {
                tree[root_child - 1] = 0;
                depth = push(depth, 1, root_child, kFullLeft);
            }
            while (depth > 0) depth = split(depth - 1, tree);
        }
        g.sync();
        return true;
    }

  private:
    static constexpr int kLong = 500;  // words; spans of one width then take a millisecond
    enum Span : int16_t { kOpenRight, kOpenLeft, kFullRight, kFullLeft };

    SPARSEWOOD_HD int64_t at(int i, int j) const { return int64_t(i) * side + j; }

    SPARSEWOOD_HD void set_full(int i, int j, double right, double left) {
        full_right[at(i, j)] = full_right_t[at(j, i)] = right;
        full_left[at(i, j)] = full_left_t[at(j, i)] = left;
    }

    SPARSEWOOD_HD int best_root_child(const double* scores) const {
        double best = kForbidden;
        int child = -1;
        for (int r = 1; r <= words; ++r) {
            double s = full_left[at(1, r)] + full_right[at(r, words)] + scores[at(r - 1, 0)];
            if (s > best) best = s, child = r;
        }
        return child;
    }

    SPARSEWOOD_HD int push(int depth, int i, int j, Span span) {
        if (i == j) return depth;
        stack[3 * depth] = static_cast<int16_t>(i);
        stack[3 * depth + 1] = static_cast<int16_t>(j);
        stack[3 * depth + 2] = span;
        return depth + 1;
    }

    // Replaces the span at `depth` by the two it was made of; returns the new depth.
    SPARSEWOOD_HD int split(int depth, int16_t* tree) {
        int i = stack[3 * depth], j = stack[3 * depth + 1], width = j - i, k;
        switch (stack[3 * depth + 2]) {
            case kFullRight:
                k = i + 1 +
                    best_sum_at(open_right + at(i, i + 1), full_right_t + at(j, i + 1), width);
                return push(push(depth, i, k, kOpenRight), k, j, kFullRight);
            case kFullLeft:
                k = i + best_sum_at(full_left + at(i, i), open_left_t + at(j, i), width);
                return push(push(depth, i, k, kFullLeft), k, j, kOpenLeft);
            case kOpenRight:
                tree[j - 1] = static_cast<int16_t>(i);
                break;
            default:
                tree[i - 1] = static_cast<int16_t>(j);
        }
        k = i + best_sum_at(full_right + at(i, i), full_left_t + at(j, i + 1), width);
        return push(push(depth, i, k, kFullRight), k + 1, j, kFullLeft);
    }
};

}  // namespace sparsewood
