// The best of some weighted items that together have a given weight.
#pragma once

#include "group/group.h"

namespace sparsewood {

// Calls give(item, amount) for the best items, in any order, until their amounts sum to `need`: all
// of the weight of each, but of the last. Returns what is left of `need`.
//
// order: (count) the items, in any order; is_better(a, b): a total order. Partitions as Hoare's
// "Find" (1961), in O(count) on average.
template <class IsBetter, class Weight, class Give>
SPARSEWOOD_HD int select_by_weight(int32_t* order, int count, int need, IsBetter is_better,
                                   Weight weight, Give give) {
    auto swap = [&](int a, int b) {
        int32_t item = order[a];
        order[a] = order[b];
        order[b] = item;
    };
    for (int low = 0, high = count; low < high && need > 0;) {
        int pivot = order[low + (high - low) / 2], middle = low;
        int64_t sum = 0;
        swap(low + (high - low) / 2, high - 1);
        for (int c = low; c < high - 1; ++c)
            if (is_better(order[c], pivot)) {
                sum += weight(order[c]);
                swap(c, middle++);
            }
        if (sum >= need) {
            high = middle;
            continue;
        }
        for (int c = low; c < middle; ++c) {
            int amount = static_cast<int>(weight(order[c]));
            need -= amount;
            give(order[c], amount);
        }
        swap(middle, high - 1);
        int64_t own = weight(pivot);
        int amount = own < need ? static_cast<int>(own) : need;
        need -= amount;
        give(pivot, amount);
        low = middle + 1;
    }
    return need;
}

}  // namespace sparsewood
