// MAP oracle for paths from the first to the last cell of a grid, which may turn back.
//
// Scores are costs with a minus sign; those above 0 count as 0. A code has a slot for each cell,
// which is 1 if the path visits it. Its row of the table is (0, score). The oracle cannot answer
// what k best asks, the best path through a given cell, so Python refuses it.
#pragma once

#include "families/family.h"

namespace sparsewood {

struct GridPaths {
    static constexpr int kPoll = 4096;  // cells between two polls
    static constexpr bool kEmpty = true;
    static constexpr double kCross = kNever;
    int slots, penalised, rows, width;
    int height, length;  // rows and columns of the grid
    bool diagonal;       // steps may be diagonal
    double* cost;        // (slots) of the best path to each cell found so far
    int32_t* cells;      // (slots) how many cells it has, 0: there is none
    int32_t* from;       // (slots) the cell before the last
    int32_t* heap;       // (slots) cells to go on from, the best first
    int32_t* place;      // (slots) of a cell in the heap

    SPARSEWOOD_HD int64_t base(int slot) const { return 2 * int64_t(slot); }

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        cost = arena.take<double>(slots);
        cells = arena.take<int32_t>(slots);
        from = arena.take<int32_t>(slots);
        heap = arena.take<int32_t>(slots);
        place = arena.take<int32_t>(slots);
    }

    // The algorithm of Dijkstra (1959). Of the best paths it takes one with the fewest cells, so
    // that no two of its cells are neighbours except in succession.
    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        for (int c = g.lane(); c < slots; c += g.size()) code[c] = 0, cells[c] = 0;
        g.sync();
        int last = slots - 1;
        if (g.leader() && table[1] != kForbidden) search(g, table);
        g.sync();
        if (cells[last] == 0) return false;
        if (g.leader())
            for (int c = last; c >= 0; c = from[c]) code[c] = 1;
        g.sync();
        return true;
    }

    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        fix_row(table + base(slot), 2, option);
    }

    // size, shape: rows and columns; options: whether steps may be diagonal.
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape, const int64_t* options) {
        height = static_cast<int>(size[0]);
        length = static_cast<int>(size[1]);
        slots = penalised = rows = height * length;
        width = 2;
        diagonal = options[0] != 0;
        padded_rows = shape[0];
        padded_columns = shape[1];
    }

    SPARSEWOOD_HD Row row(int r) const { return {part(r, 1), 1, 0, 0}; }

    SPARSEWOOD_HD int64_t part(int slot, int option) const {
        return option == 0 ? -1 : slot / length * padded_columns + slot % length;
    }

    template <class G>
    SPARSEWOOD_HD void shift(const G&, double*) const {}

    SPARSEWOOD_HD int64_t event_size() const { return padded_rows * padded_columns; }

    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        mark_parts(g, *this, code, out);
    }

  private:
    int64_t padded_rows, padded_columns;  // of the caller's array

    // One lane's work.
    template <class G>
    SPARSEWOOD_HD void search(const G& g, const double* table) {
        int held = 0;
        cost[0] = enter(table, 0), cells[0] = 1, from[0] = -1;
        rise(0, held++);
        for (int found = 1; held > 0; ++found) {
            if (G::kLanes == 1 && found % kPoll == 0) g.poll();
            int here = heap[0];
            if (here == slots - 1) return;
            int moved = heap[--held];
            if (held > 0) sink(moved, held);
            int i = here / length, j = here % length;
            for (int a = i > 0 ? i - 1 : 0; a <= i + 1 && a < height; ++a)
                for (int b = j > 0 ? j - 1 : 0; b <= j + 1 && b < length; ++b) {
                    int next = a * length + b;
                    if (next == here || (!diagonal && a != i && b != j)) continue;
                    if (table[base(next) + 1] == kForbidden) continue;
                    double total = cost[here] + enter(table, next);
                    int count = cells[here] + 1;
                    bool is_new = cells[next] == 0;
                    if (!is_new && (total > cost[next] || (total == cost[next] && count >= cells[next])))
                        continue;
                    cost[next] = total, cells[next] = count, from[next] = here;
                    rise(next, is_new ? held++ : place[next]);
                }
        }
    }

    SPARSEWOOD_HD double enter(const double* table, int cell) const {
        double score = table[base(cell) + 1];
        return score < 0 ? -score : 0;
    }

    SPARSEWOOD_HD bool before(int a, int b) const {
        if (cost[a] != cost[b]) return cost[a] < cost[b];
        return cells[a] != cells[b] ? cells[a] < cells[b] : a < b;
    }

    SPARSEWOOD_HD void put(int cell, int at) { heap[at] = cell, place[cell] = at; }

    // Moves a cell up from a place in the heap, which is free.
    SPARSEWOOD_HD void rise(int cell, int at) {
        for (; at > 0 && before(cell, heap[(at - 1) / 2]); at = (at - 1) / 2)
            put(heap[(at - 1) / 2], at);
        put(cell, at);
    }

    // Moves a cell down from the first place, which is free, in a heap of so many.
    SPARSEWOOD_HD void sink(int cell, int held) {
        int at = 0;
        for (int child = 1; child < held; child = 2 * at + 1) {
            if (child + 1 < held && before(heap[child + 1], heap[child])) ++child;
            if (!before(heap[child], cell)) break;
            put(heap[child], at);
            at = child;
        }
        put(cell, at);
    }
};

}  // namespace sparsewood
