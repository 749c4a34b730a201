// The facets of spanning trees: between the vertices of a set, a tree has at most as many edges as
// vertices minus one (Edmonds 1971, "Matroids and the greedy algorithm").
//
// The pool begins with the tight sets among those that the greedy algorithm joins when it prices
// the solution. Violated sets are found by directing the edges so that equal mass enters every
// vertex but the first: either this is impossible, or too little mass enters the set.
#pragma once

#include <numeric>
#include <set>

#include "canonical/facets.h"
#include "canonical/min_cut.h"
#include "families/spanning_trees.h"

namespace sparsewood {

template <>
class Facets<SpanningTrees> : public AllPenalised {
  public:
    static constexpr bool kKnown = true;
    static constexpr bool kEmpty = true;

    void begin(SpanningTrees& family, const double* theta, Pool& pool) {
        vertices_ = family.vertices;
        for (int i = 1; i < vertices_; ++i)
            for (int j = 0; j < i; ++j) ends_.push_back({j, i});
        List<int> order(pool.count());
        std::iota(order.begin(), order.end(), 0);
        auto price = [&](int c) { return theta[pool.live[c]] - pool.residual[c]; };
        std::stable_sort(order.begin(), order.end(),
                         [&](int a, int b) { return price(a) > price(b); });
        List<Bits> tree_of;
        for (int v = 0; v < vertices_; ++v) {
            tree_of.push_back(empty());
            set_bit(tree_of.back(), v);
        }
        for (int c : order)
            if (is_edge(pool, c)) join(pool, ends(pool, c), tree_of);
    }

    bool separate(Pool& pool) {
        size_t before = pool.facets.size();
        into_.assign(int64_t(vertices_) * vertices_, 0.0);
        if (direct(pool)) {
            MinCut graph;
            List<double> capacity;
            for (int j = 1; j < vertices_; ++j)
                for (int i = 0; i < vertices_; ++i)
                    if (into(i, j) > 0) graph.add(i, j), capacity.push_back(into(i, j));
            graph.prepare(vertices_);
            graph.each_below(capacity, pool.mass - Pool::kViolated,
                             [&](const List<int>& vertices) { add(pool, vertices); });
        }
        return pool.facets.size() > before;
    }

  private:
    struct Ends {
        int low, high;
    };
    int vertices_;
    List<Ends> ends_;    // (edges)
    List<double> into_;  // (vertices, vertices) mass of the edge (i, j) directed to j
    std::set<Bits> known_;      // sets of vertices

    Bits empty() const { return no_bits(vertices_); }
    double& into(int i, int j) { return into_[i * vertices_ + j]; }
    static bool is_edge(const Pool& pool, int c) { return pool.live[c] % 2 == 1; }
    Ends ends(const Pool& pool, int c) const { return ends_[pool.live[c] / 2]; }

    bool add(Pool& pool, const Bits& set) {
        int size = count_common(set, set);
        if (size < 3 || !known_.insert(set).second) return false;
        pool.add(size - 1, -1, [&](int c) {
            return is_edge(pool, c) && has_bit(set, ends(pool, c).low) &&
                   has_bit(set, ends(pool, c).high);
        });
        return true;
    }

    void add(Pool& pool, const List<int>& vertices) {
        Bits set = empty();
        for (int v : vertices) set_bit(set, v);
        add(pool, set);
    }

    // Joins the trees at both ends of an edge, and adds the set of its vertices if it is tight.
    void join(Pool& pool, Ends edge, List<Bits>& tree_of) {
        Bits tree = tree_of[edge.low];
        const Bits& other = tree_of[edge.high];
        if (tree == other) return;
        for (size_t i = 0; i < tree.size(); ++i) tree[i] |= other[i];
        for (int v = 0; v < vertices_; ++v)
            if (has_bit(tree, v)) tree_of[v] = tree;
        if (add(pool, tree) && !pool.keep_if_tight()) known_.erase(tree);
    }

    // Directs the mass of every edge so that none enters vertex 0 and at most the total mass enters
    // any other vertex. If this is impossible, adds the violated set and returns false.
    bool direct(Pool& pool) {
        List<double> entering(vertices_, 0.0);
        for (int c = 0; c < pool.count(); ++c) {
            if (!is_edge(pool, c)) continue;
            Ends edge = ends(pool, c);
            into(edge.low, edge.high) = pool.residual[c];
            entering[edge.high] += pool.residual[c];
        }
        for (int v = 1; v < vertices_; ++v)
            while (entering[v] > pool.mass + Pool::kZero)
                if (!relieve(pool, v, entering)) return false;
        return true;
    }

    // Reverses edges along a path from v, which has too much inflow, to a vertex with spare
    // capacity.
    bool relieve(Pool& pool, int v, List<double>& entering) {
        List<int> from(vertices_, -1), queue{v};
        from[0] = from[v] = v;
        for (size_t q = 0; q < queue.size(); ++q)
            for (int u = 1; u < vertices_; ++u) {
                if (from[u] >= 0 || into(u, queue[q]) <= 1e-14) continue;
                from[u] = queue[q];
                queue.push_back(u);
                if (entering[u] >= pool.mass) continue;
                double most = std::min(entering[v] - pool.mass, pool.mass - entering[u]);
                for (int x = u; x != v; x = from[x]) most = std::min(most, into(x, from[x]));
                for (int x = u; x != v; x = from[x]) {
                    into(x, from[x]) -= most;
                    into(from[x], x) += most;
                }
                entering[v] -= most;
                entering[u] += most;
                return true;
            }
        queue.push_back(0);
        add(pool, queue);
        return false;
    }
};

}  // namespace sparsewood
