// Shortest paths from the first to the last cell of a grid in which a path may turn back.
//
// This oracle is not registered as a family: with costs alone it cannot answer what k best and
// canonical weights ask, the best path through a given cell.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "group/group.h"

namespace sparsewood {

// The algorithm of Dijkstra (1959) on one instance, with its memory.
class GridPaths {
  public:
    // Marks the cells of the best path of `scores`, (n, m) in rows of `stride`, in `out`, which is
    // 0 before. Scores above 0 count as 0. Of the best paths it takes one with the fewest cells. If
    // every path uses a forbidden cell, so does the one that is marked.
    void operator()(const double* scores, int64_t n, int64_t m, int64_t stride, bool diagonal,
                    int64_t* out) {
        open_ = false;
        find(scores, n, m, stride, diagonal);
        if (label_.back().cells == 0) open_ = true, find(scores, n, m, stride, diagonal);
        for (int64_t cell = n * m - 1;;) {
            out[cell / m * stride + cell % m] = 1;
            if (cell == 0) return;
            cell = before(cell, scores, n, m, stride, diagonal);
        }
    }

  private:
    static constexpr int kPoll = 4096;  // cells between two polls

    // What a path costs, and how many cells it has; 0: there is no path.
    struct Label {
        double cost = -kForbidden;
        int64_t cells = 0;
        bool operator<(const Label& o) const {
            return cost < o.cost || (cost == o.cost && cells < o.cells);
        }
        bool operator>(const Label& o) const { return o < *this; }
        bool operator==(const Label& o) const { return cost == o.cost && cells == o.cells; }
    };
    using Entry = std::pair<Label, int64_t>;

    std::vector<Label> label_;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
    int64_t polled_ = 0;
    bool open_ = false;  // forbidden cells may be entered

    void find(const double* scores, int64_t n, int64_t m, int64_t stride, bool diagonal) {
        size_t count = static_cast<size_t>(n * m);
        label_.assign(count, {});
        queue_ = {};
        if (is_closed(scores[0])) return;
        label_[0] = enter({0, 0}, scores[0]);
        queue_.push({label_[0], 0});
        while (!queue_.empty()) {
            auto [label, cell] = queue_.top();
            queue_.pop();
            if (label_[static_cast<size_t>(cell)] < label) continue;
            if (cell == n * m - 1) break;
            if (++polled_ % kPoll == 0) Thread::poll();
            each_neighbour(cell, n, m, diagonal, [&](int64_t next) {
                double score = scores[next / m * stride + next % m];
                Label reached = enter(label, score);
                Label& known = label_[static_cast<size_t>(next)];
                if (is_closed(score) || !(reached < known)) return;
                known = reached;
                queue_.push({reached, next});
            });
        }
    }

    bool is_closed(double score) const { return score == kForbidden && !open_; }

    static Label enter(const Label& from, double score) {
        bool counts = score < 0 && score != kForbidden;
        return {from.cost - (counts ? score : 0), from.cells + 1};
    }

    template <class F>
    static void each_neighbour(int64_t cell, int64_t n, int64_t m, bool diagonal, F f) {
        int64_t i = cell / m, j = cell % m;
        for (int64_t a = i > 0 ? i - 1 : 0; a <= i + 1 && a < n; ++a)
            for (int64_t b = j > 0 ? j - 1 : 0; b <= j + 1 && b < m; ++b)
                if ((a != i || b != j) && (diagonal || a == i || b == j)) f(a * m + b);
    }

    // The first neighbour from which the best path enters a cell.
    int64_t before(int64_t cell, const double* scores, int64_t n, int64_t m, int64_t stride,
                   bool diagonal) const {
        double score = scores[cell / m * stride + cell % m];
        int64_t found = -1;
        each_neighbour(cell, n, m, diagonal, [&](int64_t from) {
            const Label& label = label_[static_cast<size_t>(from)];
            if (found < 0 && label.cells > 0 &&
                enter(label, score) == label_[static_cast<size_t>(cell)])
                found = from;
        });
        return found;
    }
};

}  // namespace sparsewood
