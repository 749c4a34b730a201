// MAP oracle for paths in a directed acyclic graph, from a source to a sink.
//
// The graph comes with the options: how many vertices and edges it has, then the tail, the head and
// the part of each edge. Vertices are numbered in topological order, the source first and the sink
// last; edges are sorted by their tails. A code has a slot for each edge, which is 1 if the path
// takes it. Its row of the table is (0, score).
#pragma once

#include "families/family.h"

namespace sparsewood {

struct Paths {
    static constexpr int kPoll = 1 << 14;  // edges between two polls
    static constexpr bool kEmpty = true;
    static constexpr double kCross = 1e-5;
    int slots, penalised, rows, width;
    int vertices;
    double* best;      // (vertices) the score of the best path to each vertex
    int32_t* required;  // (vertices) how many edges it has that must be taken
    int32_t* into;     // (vertices) the last edge of it, kNone: there is no path

    SPARSEWOOD_HD int64_t base(int slot) const { return 2 * int64_t(slot); }

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        best = arena.take<double>(vertices);
        required = arena.take<int32_t>(vertices);
        into = arena.take<int32_t>(vertices);
    }
    SPARSEWOOD_HD void lay_out_cross(Arena&) {}

    // The longest path by topological order. An edge whose empty cell is forbidden must be taken,
    // so the path with most of these edges is sought, and of all such paths the best one.
    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        for (int v = g.lane(); v < vertices; v += g.size()) into[v] = kNone;
        for (int e = g.lane(); e < slots; e += g.size()) code[e] = 0;
        g.sync();
        if (g.leader()) into[0] = kStart, best[0] = 0, required[0] = 0;
        int must = 0;
        for (int e = 0; e < slots; ++e) {
            if (e % kPoll == kPoll - 1) g.poll();
            const double* cells = table + base(e);
            int needed = cells[0] == kForbidden, from = tail(e), to = head(e);
            must += needed;
            if (!g.leader() || into[from] == kNone || cells[1] == kForbidden) continue;
            double score = best[from] + cells[1];
            int count = required[from] + needed, known = into[to] == kNone ? -1 : required[to];
            if (count < known || (count == known && score <= best[to])) continue;
            best[to] = score, required[to] = count, into[to] = e;
        }
        g.sync();
        int sink = vertices - 1;
        if (into[sink] == kNone || required[sink] < must) return false;
        if (g.leader())
            for (int v = sink; v > 0; v = tail(into[v])) code[into[v]] = 1;
        g.sync();
        return true;
    }

    // The pieces between vertices on both paths can be exchanged.
    SPARSEWOOD_HD double cross(const double* table, int16_t* a, const int16_t* b) const {
        double total = 0, gain = 0;
        for (int e = 0, from = 0, at_a = 0, at_b = 0; e <= slots; ++e) {
            if (e < slots && !a[e] && !b[e]) continue;
            if (at_a == at_b) {
                if (gain > 0) {
                    total += gain;
                    for (int s = from; s < e; ++s) a[s] = b[s];
                }
                gain = 0;
                from = e;
            }
            if (e == slots) break;
            gain += (b[e] - a[e]) * table[base(e) + 1];
            if (a[e]) at_a = head(e);
            if (b[e]) at_b = head(e);
        }
        return total;
    }

    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        fix_row(table + base(slot), 2, option);
    }

    // shape: the number of edges of the caller's graph, some of which are on no path.
    SPARSEWOOD_HD void set_size(const int64_t*, const int64_t* shape, const int64_t* options) {
        vertices = static_cast<int>(options[0]);
        slots = penalised = rows = static_cast<int>(options[1]);
        width = 2;
        edges = options + 2;
        padded = shape[0];
    }

    SPARSEWOOD_HD Row row(int r) const { return {part(r, 1), 1, 0, 0}; }

    SPARSEWOOD_HD int64_t part(int slot, int option) const {
        return option == 0 ? -1 : edges[3 * int64_t(slot) + 2];
    }

    template <class G>
    SPARSEWOOD_HD void shift(const G&, double*) const {}

    SPARSEWOOD_HD int64_t event_size() const { return padded; }

    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        mark_parts(g, *this, code, out);
    }

  private:
    static constexpr int kNone = -1, kStart = -2;
    const int64_t* edges;  // (slots, 3) tail, head, part
    int64_t padded;        // edges in the caller's array

    SPARSEWOOD_HD int tail(int e) const { return static_cast<int>(edges[3 * int64_t(e)]); }
    SPARSEWOOD_HD int head(int e) const { return static_cast<int>(edges[3 * int64_t(e) + 1]); }
};

}  // namespace sparsewood
