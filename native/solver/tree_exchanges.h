// Exchanges of spanning trees (Gabow 1977, "Two algorithms for generating weighted spanning trees
// in order"): see best_exchanges.h.
//
// Without one of its edges a tree falls in two parts, and the best other edge between them takes its
// place. These are found for all edges by one pass up the tree: the row of a vertex holds the best
// edge from its subtree to every other vertex.
#pragma once

#include <algorithm>
#include <vector>

#include "families/spanning_trees.h"
#include "solver/best_exchanges.h"

namespace sparsewood {

template <>
class ExchangesOf<SpanningTrees> {
  public:
    static constexpr bool kKnown = true;

    // The best tree that has the edges marked as fixed, and not those of `without`.
    struct Known {
        std::vector<int32_t> parent;  // of every vertex in the tree rooted at vertex 0
        std::vector<uint8_t> fixed;   // the edge above a vertex
        std::vector<int64_t> without;
    };

    ExchangesOf(SpanningTrees& family, const double* table)
        : family_(family), table_(table), count_(static_cast<size_t>(family.vertices)) {
        scores_.assign(count_ * count_, kForbidden);
        const double* from = table + 1;
        for (size_t v = 0; v < count_; ++v)
            for (size_t u = 0; u < v; ++u, from += 2)
                scores_[v * count_ + u] = scores_[u * count_ + v] = *from;
    }

    bool first(Known& tree) {
        std::vector<int16_t> code(static_cast<size_t>(family_.slots));
        if (!family_(Thread{}, table_, code.data())) return false;
        tree.parent.assign(family_.parent, family_.parent + count_);
        tree.parent[0] = 0;
        tree.fixed.assign(count_, 0);
        return true;
    }

    double total(const Known& tree) const {
        double sum = 0;
        for (size_t v = 1; v < count_; ++v) sum += scores_[cell(v, parent(tree, v))];
        return sum;
    }

    void write(const Known& tree, std::vector<int16_t>& code) const {
        code.assign(static_cast<size_t>(family_.slots), 0);
        for (size_t v = 1; v < count_; ++v) {
            size_t u = parent(tree, v), high = std::max(u, v), low = std::min(u, v);
            code[high * (high - 1) / 2 + low] = 1;
        }
    }

    // Places are vertices: the edge above one is changed.
    template <class See>
    void each(const Known& tree, double limit, See see) {
        sort(tree);
        rows_ = scores_;
        for (int64_t e : tree.without) forbid(rows_, static_cast<size_t>(e));
        for (size_t v = 1; v < count_; ++v) forbid(rows_, cell(v, parent(tree, v)));
        for (size_t c = count_ - 1; c > 0; --c) {
            if (c % kPoll == 0) poll();
            size_t v = order_[c], above = parent(tree, v);
            double *row = &rows_[cell(v, 0)], *into = &rows_[cell(above, 0)];
            for (size_t i = c; i < c + below_[v]; ++i) row[order_[i]] = kForbidden;
            double best = kForbidden;
            for (size_t u = 0; u < count_; ++u) {
                best = row[u] > best ? row[u] : best;
                into[u] = row[u] > into[u] ? row[u] : into[u];
            }
            double drop = scores_[cell(v, above)] - best;
            if (!tree.fixed[v] && drop < limit) limit = see(drop, static_cast<int>(v));
        }
    }

    Known exchange(const Known& from, int at) {
        Known tree = from;
        size_t v = static_cast<size_t>(at);
        for (size_t u = 1; u < v; ++u) tree.fixed[u] = 1;
        tree.without.push_back(static_cast<int64_t>(cell(v, parent(tree, v))));
        rows_ = scores_;
        for (int64_t e : tree.without) forbid(rows_, static_cast<size_t>(e));
        below_.assign(count_, 0);
        for (size_t w = 1; w < count_; ++w) {
            size_t u = w;
            while (u != v && u != 0) u = parent(tree, u);
            below_[w] = u == v;
        }
        size_t inside = v, outside = 0;
        for (size_t w = 1; w < count_; ++w)
            for (size_t u = 0; below_[w] && u < count_; ++u)
                if (!below_[u] && rows_[cell(w, u)] > rows_[cell(inside, outside)])
                    inside = w, outside = u;
        hang(tree, v, inside, outside);
        return tree;
    }

  private:
    static constexpr size_t kPoll = 256;  // vertices between two polls
    SpanningTrees& family_;
    const double* table_;
    size_t count_;                // of vertices
    std::vector<double> scores_;  // (vertices, vertices)
    std::vector<double> rows_;    // scratch of that shape
    std::vector<size_t> order_;   // vertices, each followed by those below it
    std::vector<size_t> below_;   // number of vertices in a subtree

    size_t cell(size_t v, size_t u) const { return v * count_ + u; }
    static size_t parent(const Known& tree, size_t v) {
        return static_cast<size_t>(tree.parent[v]);
    }

    void forbid(std::vector<double>& rows, size_t edge) const {
        rows[edge] = rows[cell(edge % count_, edge / count_)] = kForbidden;
    }

    void sort(const Known& tree) {
        std::vector<size_t> child(count_, 0), sibling(count_, 0);
        for (size_t v = count_ - 1; v > 0; --v)
            sibling[v] = child[parent(tree, v)], child[parent(tree, v)] = v;
        order_.clear();
        for (size_t v = 0;;) {
            order_.push_back(v);
            if (child[v] == 0)
                while (v > 0 && sibling[v] == 0) v = parent(tree, v);
            else {
                v = child[v];
                continue;
            }
            if (v == 0) break;
            v = sibling[v];
        }
        below_.assign(count_, 1);
        for (size_t c = count_ - 1; c > 0; --c) below_[parent(tree, order_[c])] += below_[order_[c]];
    }

    // Turns the subtree of v around, so that `inside` is its root, and hangs it below `outside`.
    static void hang(Known& tree, size_t v, size_t inside, size_t outside) {
        size_t above = outside;
        uint8_t fixed = 0;
        for (size_t w = inside;;) {
            size_t next = parent(tree, w);
            uint8_t was_fixed = tree.fixed[w];
            tree.parent[w] = static_cast<int32_t>(above), tree.fixed[w] = fixed;
            if (w == v) return;
            above = w, fixed = was_fixed, w = next;
        }
    }
};

}  // namespace sparsewood
