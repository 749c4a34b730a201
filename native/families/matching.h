// MAP oracle for matchings: the assignment problem by shortest augmenting paths, dense, rectangular
// and partial (Jonker & Volgenant 1987; Crouse 2016).
//
// Every option has a price, and a slot prefers the option with the largest score minus price. First
// the slots bid: each takes its preferred option and raises the price until its second choice is as
// good; the previous owner bids again. Then each remaining slot gets an option along the cheapest
// path of exchanges. Prices only rise, prices of options without owner never change, and an option
// once taken stays taken. So the options left over at the end are the cheapest, as the optimum of a
// rectangular problem requires.
//
// In a square problem no option is left over, and any initial prices are valid. The prices for the
// last table of the same size are a good start for the next oracle call.
//
// In a partial matching, option 0 (no partner) is available to all: it has no owner and price 0.
#pragma once

#include "families/bipartite.h"
#include "families/row_maxima.h"

namespace sparsewood {

template <bool Partial>
struct Matching : Bipartite<Partial> {
    using Bipartite<Partial>::base, Bipartite<Partial>::slots, Bipartite<Partial>::transposed;
    using Bipartite<Partial>::width;

    double* price;     // (width) of an option
    int16_t* owner;    // (width) slot that owns the option, -1: none
    int16_t* waiting;  // (slots) slots without an option
    // The search for a path: a tree of slots, in the order in which they were reached.
    double* open;      // (width) price of an option, kDone if its owner is in the tree
    double* value;     // (width) minus the cost of the path to an option; then kForbidden
    int16_t* tree;     // (slots)
    int16_t* through;  // (slots) option owned by the slot in the tree
    double* arrival;   // (slots) value of that option
    double* so_far;    // (slots) the same after the slot has released it
    bool priced;       // whether `price` is from a table of this size

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        price = arena.take<double>(width);
        owner = arena.take<int16_t>(width);
        waiting = arena.take<int16_t>(slots);
        open = arena.take<double>(width);
        value = arena.take<double>(width);
        tree = arena.take<int16_t>(slots);
        through = arena.take<int16_t>(slots);
        arrival = arena.take<double>(slots);
        so_far = arena.take<double>(slots);
        priced = false;
    }

    SPARSEWOOD_HD void lay_out_cross(Arena& arena) {
        owner = arena.take<int16_t>(width);
        waiting = arena.take<int16_t>(slots);
        value = arena.take<double>(width);
        tree = arena.take<int16_t>(slots);
        through = arena.take<int16_t>(slots);
        so_far = arena.take<double>(slots);
    }

    // table: (slots, width).
    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        double found = 0;
        if (g.leader()) found = match(g, table, code);
        g.sync();
        return g.sum(found) > 0;
    }

    // A slot of a that moves to its option in b forces that option's owner in a to move to its own
    // option in b, and so on until an option is free (a path) or the first slot is reached (a
    // cycle). Cycles, and paths from any of their slots on, can be exchanged separately.
    SPARSEWOOD_HD double cross(const double* table, int16_t* a, const int16_t* b) {
        int16_t *differ = waiting, *next = tree;
        double* gain = so_far;
        int count = 0;
        for (int i = 0; i < slots; ++i) {
            differ[count] = static_cast<int16_t>(i);
            count += a[i] != b[i];
        }
        bool paths = Partial || slots < width;  // a free option is possible
        if (paths)
            for (int d = 0; d < count; ++d) owner[b[differ[d]]] = -1;
        for (int d = 0; d < count; ++d) owner[a[differ[d]]] = differ[d];
        if (Partial) owner[0] = -1;
        for (int d = 0; d < count; ++d) {
            int i = differ[d];
            next[i] = owner[b[i]];
            gain[i] = table[base(i) + b[i]] - table[base(i) + a[i]];
        }
        double total = paths ? exchange_paths(a, b, count) : 0;
        for (int d = 0; d < count; ++d)
            if (next[differ[d]] >= 0) total += exchange_cycle(a, b, differ[d]);
        return total;
    }

    // Every slot has one option, and every option one slot if their numbers are equal.
    template <class G>
    SPARSEWOOD_HD void shift(const G& g, double* table) const {
        if (Partial) return;
        for (int i = g.lane(); i < slots; i += g.size()) lower(table + base(i), 1, width);
        g.sync();
        if (slots < width) return;
        for (int j = g.lane(); j < width; j += g.size()) lower(table + j, width, slots);
    }

    SPARSEWOOD_HD int64_t event_size() const { return this->padded_rows; }

    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        for (int64_t i = g.lane(); i < this->padded_rows; i += g.size()) out[i] = -1;
        g.sync();
        for (int i = g.lane(); i < slots; i += g.size()) {
            int member = code[i] - Partial;
            if (member < 0) continue;
            if (transposed)
                out[member] = i;
            else
                out[i] = member;
        }
    }

  private:
    static constexpr double kDone = -kForbidden;
    static constexpr int kPoll = 256;  // rows that are read between two polls

    template <class G>
    SPARSEWOOD_HD bool match(const G& g, const double* table, int16_t* code) {
        double least = priced ? lowest_price() : 0;
        for (int j = 0; j < width; ++j) price[j] = priced ? price[j] - least : 0, owner[j] = -1;
        priced = !Partial && slots == width;
        int left = bid(g, table, code);
        for (int w = 0; w < left; ++w) {
            if (w % 16 == 15) g.poll();
            if (!find_path(g, table, code, waiting[w])) return false;
        }
        return left >= 0;
    }

    SPARSEWOOD_HD double lowest_price() const {
        double least = price[0];
        for (int j = 1; j < width; ++j) least = price[j] < least ? price[j] : least;
        return least;
    }

    // Returns the number of slots still waiting; -1: one has no option at all.
    template <class G>
    SPARSEWOOD_HD int bid(const G& g, const double* table, int16_t* code) {
        int left = 0, again = slots / 2;  // with ties, more rounds are slower than paths
        for (int start = 0; start < slots; ++start) {
            if (start % kPoll == kPoll - 1) g.poll();
            for (int i = start; i >= 0;) {
                const double* row = table + base(i);
                TwoBest two = two_best(g, row, price, width);
                if (two.best == kForbidden) return -1;
                int at = wanted_option(row, two), before = owner[at];
                bool outbids = two.best > two.second && two.second != kForbidden && again > 0;
                if (before >= 0 && !outbids) {
                    waiting[left++] = static_cast<int16_t>(i);
                    break;
                }
                code[i] = static_cast<int16_t>(at);
                if (Partial && at == 0) break;
                if (two.second != kForbidden) price[at] += two.best - two.second;
                owner[at] = static_cast<int16_t>(i);
                again -= before >= 0;
                i = before;
            }
        }
        return left;
    }

    // The best option; ties go to a free option if there is one, then to the first.
    SPARSEWOOD_HD int wanted_option(const double* row, TwoBest two) const {
        int at = 0;
        while (row[at] - price[at] != two.best) ++at;
        if (two.best > two.second || owner[at] < 0) return at;
        for (int j = at + 1; j < width; ++j)
            if (row[j] - price[j] == two.best && owner[j] < 0) return j;
        return at;
    }

    // Assigns an option to slot i along the cheapest path (Dijkstra); false if there is no path.
    template <class G>
    SPARSEWOOD_HD bool find_path(const G& g, const double* table, int16_t* code, int i) {
        for (int j = 0; j < width; ++j) open[j] = price[j], value[j] = kForbidden;
        double best = 0, has = 0;
        int length = 0, at = 0;
        while (i >= 0) {
            if (length % kPoll == kPoll - 1) g.poll();
            tree[length] = static_cast<int16_t>(i);
            through[length] = static_cast<int16_t>(at);
            arrival[length] = best;
            so_far[length] = best - has;
            best = improve(g, table + base(i), open, so_far[length++], width, value);
            if (best == kForbidden) return false;
            for (at = 0; value[at] != best;) ++at;
            i = owner[at];
            if (i < 0) break;
            has = table[base(i) + at] - price[at];
            value[at] = kForbidden;
            open[at] = kDone;
        }
        move_along(table, code, at, best);
        for (int p = 1; p < length; ++p) price[through[p]] += arrival[p] - best;
        return true;
    }

    // Moves the slots on the path that ends at an option with value `end`. The slot that reached an
    // option is not stored: it is the first whose value for it is exactly equal.
    SPARSEWOOD_HD void move_along(const double* table, int16_t* code, int at, double end) {
        int p = -1;
        while (p != 0) {
            p = 0;
            while (so_far[p] + table[base(tree[p]) + at] - price[at] != end) ++p;
            code[tree[p]] = static_cast<int16_t>(at);
            if (!Partial || at != 0) owner[at] = tree[p];
            at = through[p];
            end = arrival[p];
        }
    }

    // Part of cross(): `tree` holds the next slot, -1 at the end of a path or if done.
    SPARSEWOOD_HD double exchange_cycle(int16_t* a, const int16_t* b, int start) {
        double gain = 0;
        int i = start;
        do {
            int after = tree[i];
            gain += so_far[i];
            tree[i] = -1;
            i = after;
        } while (i != start);
        if (!(gain > 0)) return 0;
        do {
            int after = owner[b[i]];
            a[i] = b[i];
            i = after;
        } while (i != start);
        return gain;
    }

    // Paths begin at slots whose option no other slot moves to. Marks slots as done.
    SPARSEWOOD_HD double exchange_paths(int16_t* a, const int16_t* b, int count) {
        int16_t *wanted = reinterpret_cast<int16_t*>(value), *path = through;
        for (int d = 0; d < count; ++d) wanted[a[waiting[d]]] = 0;
        for (int d = 0; d < count; ++d) wanted[b[waiting[d]]] = 1;
        if (Partial) wanted[0] = 0;
        double total = 0;
        for (int d = 0; d < count; ++d) {
            int start = waiting[d];
            if (wanted[a[start]] || a[start] == b[start]) continue;
            int length = 0;
            for (int i = start; i >= 0;) {
                int after = tree[i];
                path[length++] = static_cast<int16_t>(i);
                tree[i] = -1;
                i = after;
            }
            double gain = 0, best = 0;
            int first = length;
            for (int p = length - 1; p >= 0; --p) {
                gain += so_far[path[p]];
                if (gain > best) best = gain, first = p;
            }
            for (int p = first; p < length; ++p) a[path[p]] = b[path[p]];
            total += best;
        }
        return total;
    }

    // Shifts cells so that the largest is 0; does nothing if all are forbidden.
    static SPARSEWOOD_HD void lower(double* cells, int step, int count) {
        double top = kForbidden;
        for (int c = 0; c < count; ++c) top = cells[c * step] > top ? cells[c * step] : top;
        if (top == kForbidden) return;
        for (int c = 0; c < count; ++c) cells[c * step] -= top;
    }
};

}  // namespace sparsewood
