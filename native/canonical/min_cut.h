// Small cuts of a directed graph: sets of nodes into which less than a given mass can flow from
// node 0.
//
// A flow of that mass to a node proves that no such set contains the node, which then serves as
// another source. Ordered by their direct inflow, nodes need few augmenting paths.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "group/list.h"

namespace sparsewood {

class MinCut {
  public:
    void add(int from, int to) { arcs_.push_back({from, to}); }

    // Call after all arcs were added.
    void prepare(int nodes) {
        first_.assign(nodes + 1, 0);
        for (Arc arc : arcs_) ++first_[arc.from], ++first_[arc.to];
        for (int v = 0, sum = 0; v <= nodes; ++v) first_[v] = sum += first_[v];
        around_.resize(2 * arcs_.size());
        for (int a = static_cast<int>(arcs_.size()) - 1; a >= 0; --a)
            around_[--first_[arcs_[a].from]] = a, around_[--first_[arcs_[a].to]] = a;
        flow_.resize(arcs_.size());
        seen_.assign(nodes, 0);
        through_.resize(nodes);
    }

    bool ready() const { return !seen_.empty(); }

    // Calls found(nodes) with sets of inflow less than `mass`, if there are any; not all sets that
    // overlap with a previous one are found. capacity: (arcs).
    template <class Found>
    void each_below(const List<double>& capacity, double mass, Found found) {
        int nodes = static_cast<int>(seen_.size());
        capacity_ = capacity.data();
        source_.assign(nodes, 0);
        direct_.assign(nodes, 0.0);
        List<int> left;
        for (int v = 1; v < nodes; ++v) left.push_back(v);
        become_source(0);
        while (!left.empty()) {
            auto next = std::max_element(left.begin(), left.end(),
                                         [&](int a, int b) { return direct_[a] < direct_[b]; });
            int v = *next;
            *next = left.back();
            left.pop_back();
            if (direct_[v] >= mass || flow_to(v, mass)) {
                become_source(v);
                continue;
            }
            found(queue_);
            auto is_in = [&](int u) { return seen_[u] == search_; };
            left.erase(std::remove_if(left.begin(), left.end(), is_in), left.end());
        }
    }

  private:
    static constexpr double kEmpty = 1e-14;  // less capacity is rounding

    struct Arc {
        int from, to;
    };

    List<Arc> arcs_;
    List<int> first_, around_;  // (nodes + 1), (2 arcs): the arcs of each node
    const double* capacity_ = nullptr;
    List<double> flow_;    // (arcs)
    List<double> direct_;  // (nodes) direct inflow from sources
    List<char> source_;    // (nodes) whether a node serves as a source
    List<int> seen_, through_, queue_;
    int search_ = 0;  // seen_ holds the number of the last search that reached a node

    void become_source(int v) {
        source_[v] = 1;
        for (int i = first_[v]; i < first_[v + 1]; ++i)
            if (arcs_[around_[i]].from == v) direct_[arcs_[around_[i]].to] += capacity_[around_[i]];
    }

    // Whether `mass` can flow from the sources to v; if not, queue_ is the smallest cut around v.
    bool flow_to(int v, double mass) {
        std::fill(flow_.begin(), flow_.end(), 0.0);
        for (int i = first_[v]; i < first_[v + 1]; ++i)
            if (source_[arcs_[around_[i]].from]) flow_[around_[i]] = capacity_[around_[i]];
        for (double total = direct_[v]; total < mass;) {
            int from = find_path(v);
            if (from < 0) return false;
            total += send(from, v);
        }
        return true;
    }

    // Searches backwards from v for a source, along arcs with residual capacity. -1: there is none.
    int find_path(int v) {
        seen_[v] = ++search_;
        queue_.assign(1, v);
        for (size_t q = 0; q < queue_.size(); ++q) {
            int to = queue_[q];
            for (int i = first_[to]; i < first_[to + 1]; ++i) {
                int a = around_[i], other = other_end(a, to);
                if (seen_[other] == search_ || !(room(a, to) > kEmpty)) continue;
                seen_[other] = search_;
                through_[other] = a;
                if (source_[other]) return other;
                queue_.push_back(other);
            }
        }
        return -1;
    }

    double send(int from, int v) {
        double most = HUGE_VAL;
        for (int x = from; x != v; x = other_end(through_[x], x))
            most = std::min(most, room(through_[x], other_end(through_[x], x)));
        for (int x = from; x != v; x = other_end(through_[x], x))
            flow_[through_[x]] += arcs_[through_[x]].from == x ? most : -most;
        return most;
    }

    int other_end(int a, int v) const { return arcs_[a].from == v ? arcs_[a].to : arcs_[a].from; }

    // The residual capacity of arc a towards v.
    double room(int a, int v) const {
        return arcs_[a].to == v ? capacity_[a] - flow_[a] : flow_[a];
    }
};

}  // namespace sparsewood
