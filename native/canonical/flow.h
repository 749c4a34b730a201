// Whether the mass of parts without penalty, the transitions of chains and segmentations, is
// unique.
//
// Structures are paths through a graph that alternates segments (of length 1 in a chain) and
// transitions. The mass of the segments is known, so the masses of the transitions at one position
// have known row and column sums. They are unique if the transitions that are on a best path form
// no cycle.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "group/group.h"
#include "group/list.h"

namespace sparsewood {

class Flow {
  public:
    Flow(int positions, int labels)
        : labels_(labels),
          before_(2 * (positions + 1) * labels, kForbidden),
          after_(before_),
          tree_(before_.size()) {
        for (int k = 0; k < labels; ++k) before_[start(0, k)] = after_[end(positions, k)] = 0;
        std::iota(tree_.begin(), tree_.end(), 0);
    }

    // The nodes at which segments of a label start and end; positions count from 0.
    int start(int position, int label) const { return 2 * (position * labels_ + label); }
    int end(int position, int label) const { return start(position, label) + 1; }

    // Add arcs in the order of their source positions, transitions before segments.
    void add(int from, int to, double score, bool transition) {
        double there = before_[from] + score;
        if (there == kForbidden) return;
        arcs_.push_back({from, to, score, transition});
        before_[to] = std::max(before_[to], there);
        scale_ = std::max(scale_, std::fabs(score));
    }

    bool is_unique() {
        for (size_t a = arcs_.size(); a-- > 0;) {
            double& from = after_[arcs_[a].from];
            from = std::max(from, after_[arcs_[a].to] + arcs_[a].score);
        }
        double top = kForbidden;
        for (int k = 0; k < labels_; ++k) top = std::max(top, after_[start(0, k)]);
        for (const Arc& arc : arcs_) {
            double through = before_[arc.from] + arc.score + after_[arc.to];
            if (arc.transition && through >= top - kTie * scale_ && !join(arc.from, arc.to))
                return false;
        }
        return true;
    }

  private:
    static constexpr double kTie = 1e-8;  // relative to the largest score: the limit of ties

    struct Arc {
        int from, to;
        double score;
        bool transition;
    };

    int labels_;
    List<double> before_, after_;  // (nodes) the best path to and from a node
    List<Arc> arcs_;
    List<int> tree_;  // (nodes) a forest
    double scale_ = 1;       // the largest score

    bool join(int a, int b) {
        while (tree_[a] != a) a = tree_[a] = tree_[tree_[a]];
        while (tree_[b] != b) b = tree_[b] = tree_[tree_[b]];
        tree_[a] = b;
        return a != b;
    }
};

}  // namespace sparsewood
