// The cuts of a directed graph that are too small: sets of nodes into which less than some mass
// flows from node 0.
//
// A flow of the whole mass to a node shows that no such set holds it; the node then is as good as
// the root for all others. In the order in which most flows into them directly, nodes need few paths.
#pragma once

#include <cstdint>
#include <vector>

namespace sparsewood {

class MinCut {
  public:
    explicit MinCut(int nodes) : nodes_(nodes), at_(static_cast<size_t>(nodes)) {}

    void add(int from, int to, double capacity) {
        int arc = static_cast<int>(arcs_.size());
        arcs_.push_back({from, to, capacity, 0});
        at_[static_cast<size_t>(from)].push_back(arc);
        at_[static_cast<size_t>(to)].push_back(arc);
    }

    // Calls found(inside) with (nodes) whether each is in a set that less than mass - tol enters.
    template <class Found>
    void each_below(double mass, double tol, Found found) {
        source_.assign(static_cast<size_t>(nodes_), 0);
        source_[0] = 1;
        std::vector<double> direct(static_cast<size_t>(nodes_), 0.0);
        std::vector<char> done(source_);
        reach(0, direct);
        for (int v; (v = next(direct, done)) >= 0;) {
            size_t node = static_cast<size_t>(v);
            done[node] = 1;
            if (direct[node] >= mass - tol || flow_to(v, mass - tol)) {
                source_[node] = 1;
                reach(v, direct);
            } else {
                found(inside_);
            }
        }
    }

  private:
    static constexpr double kEmpty = 1e-14;  // capacities below it are rounding

    struct Arc {
        int from, to;
        double capacity, flow;
    };

    int nodes_;
    std::vector<std::vector<int>> at_;  // (nodes) the arcs of a node
    std::vector<Arc> arcs_;
    std::vector<char> source_, inside_;  // (nodes)
    std::vector<int> queue_, through_;

    void reach(int v, std::vector<double>& direct) const {
        for (int a : at_[static_cast<size_t>(v)]) {
            const Arc& arc = arcs_[static_cast<size_t>(a)];
            if (arc.from == v) direct[static_cast<size_t>(arc.to)] += arc.capacity;
        }
    }

    int next(const std::vector<double>& direct, const std::vector<char>& done) const {
        int best = -1;
        for (int v = 1; v < nodes_; ++v)
            if (!done[static_cast<size_t>(v)] &&
                (best < 0 || direct[static_cast<size_t>(v)] > direct[static_cast<size_t>(best)]))
                best = v;
        return best;
    }

    // Whether so much can flow from the sources to v; if not, inside_ is the smallest set about v
    // that keeps it out.
    bool flow_to(int v, double goal) {
        for (Arc& arc : arcs_) arc.flow = 0;
        for (double total = 0; total < goal;) {
            int from = search(v);
            if (from < 0) return false;
            total += augment(from, v);
        }
        return true;
    }

    // Looks backwards from v for a source, along arcs that can carry more. -1: there is none.
    int search(int v) {
        inside_.assign(static_cast<size_t>(nodes_), 0);
        through_.assign(static_cast<size_t>(nodes_), -1);
        queue_.assign(1, v);
        inside_[static_cast<size_t>(v)] = 1;
        for (size_t i = 0; i < queue_.size(); ++i)
            for (int a : at_[static_cast<size_t>(queue_[i])]) {
                int other = other_end(a, queue_[i]);
                if (inside_[static_cast<size_t>(other)] || room(a, queue_[i]) <= kEmpty) continue;
                through_[static_cast<size_t>(other)] = a;
                if (source_[static_cast<size_t>(other)]) return other;
                inside_[static_cast<size_t>(other)] = 1;
                queue_.push_back(other);
            }
        return -1;
    }

    double augment(int from, int v) {
        double most = HUGE_VAL;
        for (int x = from; x != v;) {
            int a = through_[static_cast<size_t>(x)];
            int towards = other_end(a, x);
            most = room(a, towards) < most ? room(a, towards) : most;
            x = towards;
        }
        for (int x = from; x != v;) {
            int a = through_[static_cast<size_t>(x)];
            Arc& arc = arcs_[static_cast<size_t>(a)];
            arc.flow += arc.from == x ? most : -most;
            x = other_end(a, x);
        }
        return most;
    }

    int other_end(int a, int v) const {
        const Arc& arc = arcs_[static_cast<size_t>(a)];
        return arc.from == v ? arc.to : arc.from;
    }

    // How much more can flow into v through an arc of it.
    double room(int a, int v) const {
        const Arc& arc = arcs_[static_cast<size_t>(a)];
        return arc.to == v ? arc.capacity - arc.flow : arc.flow;
    }
};

}  // namespace sparsewood
