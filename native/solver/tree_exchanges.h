// Exchanges of spanning trees (Gabow 1977, "Two algorithms for generating weighted spanning trees
// in order"): see best_exchanges.h.
//
// Without one of its edges a tree falls into two parts, and the best other edge between these takes
// its place. Such edges are found for all places by one pass up the tree: the row of a vertex holds
// the best edges from its subtree to all other vertices.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "families/spanning_trees.h"
#include "solver/best_exchanges.h"

namespace sparsewood {

template <>
class ExchangesOf<SpanningTrees> {
  public:
    static constexpr bool kKnown = true;

    // The best tree that has its fixed edges, and none of those in `without`.
    struct Known {
        std::vector<size_t> parent;   // of every vertex in the tree rooted at vertex 0
        std::vector<uint8_t> fixed;   // whether the edge above a vertex is
        std::vector<size_t> without;  // cells of the scores
    };

    ExchangesOf(SpanningTrees& family, const double* table)
        : family_(family), table_(table), count_(static_cast<size_t>(family.vertices)) {
        scores_.assign(count_ * count_, kForbidden);
        const double* from = table + 1;
        for (size_t v = 0; v < count_; ++v)
            for (size_t u = 0; u < v; ++u, from += 2)
                scores_[cell(v, u)] = scores_[cell(u, v)] = *from;
    }

    bool first(Known& tree) {
        std::vector<int16_t> code(static_cast<size_t>(family_.slots));
        if (!family_(Thread{}, table_, code.data())) return false;
        tree.parent.assign(count_, 0);
        for (size_t v = 1; v < count_; ++v) tree.parent[v] = static_cast<size_t>(family_.parent[v]);
        tree.fixed.assign(count_, 0);
        return true;
    }

    double total(const Known& tree) const {
        double sum = 0;
        for (size_t v = 1; v < count_; ++v) sum += scores_[cell(v, tree.parent[v])];
        return sum;
    }

    void write(const Known& tree, std::vector<int16_t>& code) const {
        code.assign(static_cast<size_t>(family_.slots), 0);
        for (size_t v = 1; v < count_; ++v) {
            size_t high = std::max(v, tree.parent[v]), low = std::min(v, tree.parent[v]);
            code[high * (high - 1) / 2 + low] = 1;
        }
    }

    // Places are vertices: the edge above one changes.
    template <class See>
    void each(const Known& tree, double limit, See see) {
        sort(tree);
        begin_rows(tree);
        for (size_t v = 1; v < count_; ++v) forbid(cell(v, tree.parent[v]));
        for (size_t c = count_ - 1; c > 0; --c) {
            if (c % kPoll == 0) poll();
            size_t v = order_[c], above = tree.parent[v];
            double *row = &rows_[cell(v, 0)], *into = &rows_[cell(above, 0)];
            for (size_t i = c; i < c + below_[v]; ++i) row[order_[i]] = kForbidden;
            double best = kForbidden;
            for (size_t u = 0; u < count_; ++u) best = row[u] > best ? row[u] : best;
            for (size_t u = 0; u < count_; ++u) into[u] = row[u] > into[u] ? row[u] : into[u];
            double drop = scores_[cell(v, above)] - best;
            if (!tree.fixed[v] && drop < limit) limit = see(drop, static_cast<int>(v));
        }
    }

    Known exchange(const Known& from, int at) {
        Known tree = from;
        size_t v = static_cast<size_t>(at), inside = v, outside = 0;
        std::fill(tree.fixed.begin() + 1, tree.fixed.begin() + at, uint8_t{1});
        tree.without.push_back(cell(v, tree.parent[v]));
        begin_rows(tree);
        std::vector<bool> is_below(count_);
        for (size_t w = 0; w < count_; ++w) {
            size_t u = w;
            while (u != v && u != 0) u = tree.parent[u];
            is_below[w] = u == v;
        }
        double best = kForbidden;
        for (size_t w = 1; w < count_; ++w)
            for (size_t u = 0; is_below[w] && u < count_; ++u)
                if (!is_below[u] && rows_[cell(w, u)] > best)
                    best = rows_[cell(w, u)], inside = w, outside = u;
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
    std::vector<size_t> below_;   // number of vertices of a subtree

    size_t cell(size_t v, size_t u) const { return v * count_ + u; }

    // The scores of edges that a tree may take in exchange, and of its own.
    void begin_rows(const Known& tree) {
        rows_ = scores_;
        for (size_t edge : tree.without) forbid(edge);
    }

    void forbid(size_t edge) {
        rows_[edge] = rows_[cell(edge % count_, edge / count_)] = kForbidden;
    }

    void sort(const Known& tree) {
        std::vector<size_t> child(count_, 0), sibling(count_, 0), open{0};
        for (size_t v = 1; v < count_; ++v) {
            sibling[v] = child[tree.parent[v]];
            child[tree.parent[v]] = v;
        }
        order_.clear();
        while (!open.empty()) {
            order_.push_back(open.back());
            open.pop_back();
            for (size_t v = child[order_.back()]; v != 0; v = sibling[v]) open.push_back(v);
        }
        below_.assign(count_, 1);
        for (size_t c = count_ - 1; c > 0; --c) below_[tree.parent[order_[c]]] += below_[order_[c]];
    }

    // Makes `inside` the root of the subtree of v, and hangs it below `outside`. Edges that turn
    // stay fixed or not.
    static void hang(Known& tree, size_t v, size_t inside, size_t outside) {
        size_t w = inside, above = outside, last;
        uint8_t fixed = 0;
        do {
            last = w;
            w = tree.parent[last];
            std::swap(fixed, tree.fixed[last]);
            tree.parent[last] = above;
            above = last;
        } while (last != v);
    }
};

}  // namespace sparsewood
