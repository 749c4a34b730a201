// Sets of items by size: each item is left out or taken, scored by (n + 1, 2) steps; the last row
// has the score of a place that stays empty. See structures/recursions/item_sets.py.
#pragma once

#include "sums/chart.h"

namespace sparsewood {

// The sets of the first i items with k taken are
//
//     sets(i, k) = sets(i - 1, k - 1) taken(i) + sets(i - 1, k) out(i)
//
// and all sets the sum over sets(n, k) times the weight of most - k empty places.
struct ItemSets {
    int64_t parts, cells, goal;
    double log_count;
    int used, labels;
    int items, fewest, most;

    // size: (n, fewest, most), fewest <= most <= n; shape: (n + 1, 2).
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t*) {
        items = static_cast<int>(size[0]);
        fewest = static_cast<int>(size[1]);
        most = static_cast<int>(size[2]);
        labels = 1;
        used = items + most;
        parts = 2 * int64_t(items + 1);
        goal = places(most) + 1;
        cells = goal + 1;
        double by_size = most * log(double(items + 1)), all = 0.7 * items;
        log_count = by_size < all ? by_size : all;
    }

    // Taken comes before left out, as in the sums.
    template <class G, class F>
    SPARSEWOOD_HD void each_part(const G& g, F f) const {
        for (int64_t c = g.lane(); c < parts; c += g.size()) f(c ^ 1, c);
    }

    template <bool Back, class F>
    SPARSEWOOD_HD void each_node(F f) const {
        Node whole{sets(items, fewest), places(fewest), most - fewest + 1, 1,
                   {{goal, 0, 1, -1}, {}}};
        if (Back) f(whole);
        if (!Back) f(Node{0, 0, 0, 1, {{sets(0, 0), 0, 1, -1}, {}}});
        if (!Back) f(Node{0, 0, 0, 1, {{places(most), 0, 1, -1}, {}}});
        for (int step = 0; step < most; ++step) {
            int k = Back ? step : most - 1 - step;
            f(Node{places(k + 1), 2 * int64_t(items) + 1, 1, 1, {{places(k), 0, 1, -1}, {}}});
        }
        for (int step = 1; step <= items; ++step) {
            int i = Back ? items + 1 - step : step;
            int64_t part = 2 * int64_t(i - 1);
            f(Node{sets(i - 1, 0), part + 1, 1, 1, {{sets(i, 0), 0, 1, -1}, {}}});
            for (int k = 1; k <= most && k <= i; ++k)
                f(Node{sets(i - 1, k - 1), part, 2, 1, {{sets(i, k), 0, 1, -1}, {}}});
        }
        if (!Back) f(whole);
    }

  private:
    SPARSEWOOD_HD int64_t sets(int i, int k) const {
        return parts + int64_t(i) * (most + 1) + k;
    }
    // The weight of the places that are empty when k items are taken.
    SPARSEWOOD_HD int64_t places(int k) const { return sets(items + 1, k); }
};

}  // namespace sparsewood
