// MAP oracle for projective dependency trees in which no word has more than m children, in
// O(n^3 m^2): the chart of Eisner (1996) with counters.
//
// The root is treated separately, as its children are not counted. Over words i <= j, with counts
// meaning "at most":
//   open right   i -> j, i with c children on its right, j with d on its left
//   open left    i <- j, j with c children on its left, i with d on its right
//   full right   i with c children on its right, reaching to j
//   full left    j with c children on its left, reaching to i
// An arc is completed with m - d children on the other side of the child. Tables are planes of
// (n + 1, n + 1) by count; as in eisner.h some are stored transposed, and split points are not.
#pragma once

#include "families/max_plus.h"

namespace sparsewood {

struct BoundedEisner {
    int words;
    int side;              // n + 1
    int most;              // m
    double* open_right;    // [c - 1][d][i][j], c from 1 on
    double* open_left_t;   // [c - 1][d][j][i]
    double* full_right;    // [c][i][j]
    double* full_right_t;  // [c][j][i]
    double* full_left;     // [c][i][j]
    double* full_left_t;   // [c][j][i]
    double* open_root;     // [d][j] the root -> j, j with d children on its left
    double* full_root;     // [j] the root with all words up to j in its subtree
    int16_t* stack;        // (2 n + 2, 5) spans to walk back

    SPARSEWOOD_HD void lay_out(Arena& arena, int n, int children) {
        words = n;
        side = n + 1;
        most = children;
        int64_t plane = int64_t(side) * side;
        open_right = arena.take<double>(most * (most + 1) * plane);
        open_left_t = arena.take<double>(most * (most + 1) * plane);
        full_right = arena.take<double>((most + 1) * plane);
        full_right_t = arena.take<double>((most + 1) * plane);
        full_left = arena.take<double>((most + 1) * plane);
        full_left_t = arena.take<double>((most + 1) * plane);
        open_root = arena.take<double>((most + 1) * int64_t(side));
        full_root = arena.take<double>(side);
        stack = arena.take<int16_t>(5 * (2 * words + 2));
    }

    // scores: (n, n + 1), forbidden arcs kForbidden. Writes tree (n). False if none is left.
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD bool argmax(const G& g, const double* scores, int16_t* tree) {
        for (int i = 1 + g.lane(); i < side; i += g.size())
            for (int c = 0; c <= most; ++c) set_full(c, i, i, 0.0, 0.0);
        g.sync();
        for (int width = 1; width < words; ++width) {
            if (width % 4 == 0 || words > kLong) g.poll();
            for (int i = 1 + g.lane(); i + width < side; i += g.size()) {
                open(i, i + width, scores);
                close(i, i + width);
            }
            g.sync();
        }
        bool found = false;
        if (g.leader()) found = SingleRoot ? hang_one(scores, tree) : hang_any(scores, tree);
        g.sync();
        return g.sum(found) != 0;
    }

  private:
    static constexpr int kLong = 100;  // words; spans of one width then take a millisecond
    enum Span : int16_t { kOpenRight, kOpenLeft, kFullRight, kFullLeft };

    SPARSEWOOD_HD int64_t at(int c, int i, int j) const {
        return (int64_t(c) * side + i) * side + j;
    }

    SPARSEWOOD_HD int64_t at(int c, int d, int i, int j) const {
        return at((c - 1) * (most + 1) + d, i, j);
    }

    SPARSEWOOD_HD static double arc(const double* scores, int side, int head, int word) {
        return scores[int64_t(word - 1) * side + head];
    }

    SPARSEWOOD_HD void set_full(int c, int i, int j, double right, double left) {
        full_right[at(c, i, j)] = full_right_t[at(c, j, i)] = right;
        full_left[at(c, i, j)] = full_left_t[at(c, j, i)] = left;
    }

    // The words between i and j attached to i, with x children, or to j, with y children.
    SPARSEWOOD_HD double between(int i, int j, int x, int y) const {
        if (x == 0) return full_left[at(y, i + 1, j)];
        if (y == 0) return full_right[at(x, i, j - 1)];
        return best_sum(full_right + at(x, i, i), full_left_t + at(y, j, i + 1), j - i);
    }

    SPARSEWOOD_HD void open(int i, int j, const double* scores) {
        double to_right = arc(scores, side, i, j), to_left = arc(scores, side, j, i);
        for (int x = 0; x <= most; ++x)
            for (int y = 0; y <= most; ++y) {
                if (x == most && y == most) continue;
                double base = between(i, j, x, y);
                if (x < most) open_right[at(x + 1, y, i, j)] = base + to_right;
                if (y < most) open_left_t[at(y + 1, x, j, i)] = base + to_left;
            }
    }

    SPARSEWOOD_HD void close(int i, int j) {
        int width = j - i;
        set_full(0, i, j, kForbidden, kForbidden);
        for (int c = 1; c <= most; ++c) {
            double right = open_right[at(c, most, i, j)], left = open_left_t[at(c, most, j, i)];
            for (int d = 0; d < most; ++d) {
                double r = best_sum(open_right + at(c, d, i, i + 1),
                                    full_right_t + at(most - d, j, i + 1), width);
                double l =
                    best_sum(full_left + at(most - d, i, i), open_left_t + at(c, d, j, i), width);
                right = r > right ? r : right;
                left = l > left ? l : left;
            }
            set_full(c, i, j, right, left);
        }
    }

    // The root with one child.
    SPARSEWOOD_HD bool hang_one(const double* scores, int16_t* tree) {
        double best = kForbidden;
        int child = 0, count = 0;
        for (int r = 1; r <= words; ++r)
            for (int d = 0; d <= most; ++d) {
                double s = full_left[at(d, 1, r)] + full_right[at(most - d, r, words)] +
                           arc(scores, side, 0, r);
                if (s > best) best = s, child = r, count = d;
            }
        if (child == 0) return false;
        tree[child - 1] = 0;
        walk_back(push(push(0, 1, child, kFullLeft, count), child, words, kFullRight, most - count),
                  tree);
        return true;
    }

    // The root with any number of children.
    SPARSEWOOD_HD bool hang_any(const double* scores, int16_t* tree) {
        full_root[0] = 0;
        for (int j = 1; j <= words; ++j) {
            full_root[j] = kForbidden;
            for (int d = 0; d <= most; ++d) {
                double s = best_sum(full_root, full_left_t + at(d, j, 1), j);
                open_root[at(0, d, j)] = s + arc(scores, side, 0, j);
            }
            for (int d = 0; d <= most; ++d) {
                double s = best_sum(open_root + at(0, d, 1), full_right_t + at(most - d, j, 1), j);
                full_root[j] = s > full_root[j] ? s : full_root[j];
            }
        }
        if (full_root[words] == kForbidden) return false;
        for (int j = words; j > 0;) {
            int d = 0, k = 0;
            find(open_root + at(0, 0, 1), side, full_right_t + at(most, j, 1), j, d, k);
            int child = k + 1;
            int before = best_sum_at(full_root, full_left_t + at(d, child, 1), child);
            tree[child - 1] = 0;
            int depth = push(0, child, j, kFullRight, most - d);
            walk_back(push(depth, before + 1, child, kFullLeft, d), tree);
            j = before;
        }
        return true;
    }

    // The first d, then the first k < n, at which a[d][k] + b[most - d][k] is maximal; the rows of
    // a are `step` apart, b is given at the plane `most`.
    SPARSEWOOD_HD void find(const double* a, int64_t step, const double* b, int n, int& d,
                            int& k) const {
        double best = kForbidden;
        int64_t plane = int64_t(side) * side;
        for (int e = 0; e <= most; ++e, a += step, b -= plane) {
            int split = best_sum_at(a, b, n);
            if (a[split] + b[split] > best) best = a[split] + b[split], d = e, k = split;
        }
    }

    SPARSEWOOD_HD int push(int depth, int i, int j, Span span, int c, int d = 0) {
        if (i == j) return depth;
        int16_t* top = stack + 5 * depth;
        top[0] = static_cast<int16_t>(i);
        top[1] = static_cast<int16_t>(j);
        top[2] = span;
        top[3] = static_cast<int16_t>(c);
        top[4] = static_cast<int16_t>(d);
        return depth + 1;
    }

    SPARSEWOOD_HD void walk_back(int depth, int16_t* tree) {
        while (depth > 0) depth = split(depth - 1, tree);
    }

    // Replaces the span at `depth` by the two it was made of; returns the new depth.
    SPARSEWOOD_HD int split(int depth, int16_t* tree) {
        const int16_t* top = stack + 5 * depth;
        int i = top[0], j = top[1], c = top[3], d = top[4], width = j - i, k = 0;
        int64_t plane = int64_t(side) * side;
        switch (top[2]) {
            case kFullRight:
                find(open_right + at(c, 0, i, i + 1), plane, full_right_t + at(most, j, i + 1),
                     width, d, k);
                k += i + 1;
                depth = push(depth, i, k, kOpenRight, c, d);
                return push(depth, k, j, kFullRight, most - d);
            case kFullLeft:
                find(open_left_t + at(c, 0, j, i), plane, full_left + at(most, i, i), width, d, k);
                k += i;
                depth = push(depth, i, k, kFullLeft, most - d);
                return push(depth, k, j, kOpenLeft, c, d);
            case kOpenRight:
                tree[j - 1] = static_cast<int16_t>(i);
                return split_between(depth, i, j, c - 1, d);
            default:
                tree[i - 1] = static_cast<int16_t>(j);
                return split_between(depth, i, j, d, c - 1);
        }
    }

    SPARSEWOOD_HD int split_between(int depth, int i, int j, int x, int y) {
        int k = i + best_sum_at(full_right + at(x, i, i), full_left_t + at(y, j, i + 1), j - i);
        depth = push(depth, i, k, kFullRight, x);
        return push(depth, k + 1, j, kFullLeft, y);
    }
};

}  // namespace sparsewood
