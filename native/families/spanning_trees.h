// Spanning trees of an undirected graph.
//
// A code has a slot for each edge between vertices i > j, at index i (i - 1) / 2 + j, which is 1 if
// the edge is in the tree. Its row of the table is (0, score).
#pragma once

#include "families/family.h"

namespace sparsewood {

struct SpanningTrees {
    static constexpr bool kEmpty = true;
    static constexpr double kCross = 1e-5;
    int slots, penalised, rows, width;
    int vertices;
    double* key;     // (vertices) the score of the best edge to the tree, kForbidden inside it
    int32_t* link;   // (vertices) the other end of that edge, -1 inside the tree; for cross() too
    int32_t* order;  // for cross(): (2 vertices) edges in exactly one of two trees, the best first
    int32_t* parent;  // (vertices) in the last tree, rooted at vertex 0

    SPARSEWOOD_HD int64_t base(int slot) const { return 2 * int64_t(slot); }

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        key = arena.take<double>(vertices);
        link = arena.take<int32_t>(vertices);
        parent = arena.take<int32_t>(vertices);
    }

    SPARSEWOOD_HD void lay_out_cross(Arena& arena) {
        link = arena.take<int32_t>(vertices);
        order = arena.take<int32_t>(2 * int64_t(vertices));
    }

    // The algorithm of Prim (1957). Edges that must be in the tree precede all others, so the tree
    // has them all unless they form a cycle.
    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        for (int e = g.lane(); e < slots; e += g.size()) code[e] = 0;
        for (int v = g.lane(); v < vertices; v += g.size())
            key[v] = kForbidden, link[v] = v == 0 ? -1 : 0;
        g.sync();
        for (int count = 1, last = 0; count < vertices; ++count) {
            if (count % kPoll == 0) g.poll();
            for (int v = g.lane(); v < vertices; v += g.size()) {
                if (link[v] < 0) continue;
                double s = value(table + base(edge(v, last)));
                if (s > key[v]) key[v] = s, link[v] = last;
            }
            g.sync();
            last = g.argmax(key, vertices);
            if (last < 0) return false;
            g.sync();
            if (g.leader()) {
                code[edge(last, link[last])] = 1;
                parent[last] = link[last];
                key[last] = kForbidden, link[last] = -1;
            }
            g.sync();
        }
        double forbidden = 0;
        for (int e = g.lane(); e < slots; e += g.size())
            forbidden += table[base(e) + code[e]] == kForbidden;
        return g.sum(forbidden) == 0;
    }

    // Keeps common edges, and chooses the best of the others (Kruskal 1956).
    SPARSEWOOD_HD double cross(const double* table, int16_t* a, const int16_t* b) {
        int count = 0;
        for (int v = 0; v < vertices; ++v) link[v] = v;
        int i = 1, first = 0;  // the edges of vertex i to those before it begin at `first`
        where_filled(a, b, (slots + kCodeBlock - 1) / kCodeBlock * kCodeBlock, [&](int e) {
            while (e >= first + i) first += i++;
            if (a[e] & b[e])
                join(i, e - first);
            else
                insert(table, i * vertices + e - first, count++);
        });
        double gain = 0;
        for (int c = 0; c < count; ++c) {
            int u = order[c] / vertices, v = order[c] % vertices, e = edge(u, v);
            bool joins = join(u, v);
            gain += (joins - a[e]) * table[base(e) + 1];
            order[c] = joins ? e : -1 - e;
        }
        if (!(gain > 0)) return 0;
        for (int c = 0; c < count; ++c) a[order[c] < 0 ? -1 - order[c] : order[c]] = order[c] >= 0;
        return gain;
    }

    // If an edge must be in the tree, its empty cell is forbidden.
    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        fix_row(table + base(slot), 2, option);
    }

    // size: n. shape: (n, n).
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape, const int64_t*) {
        vertices = static_cast<int>(size[0]);
        slots = penalised = rows = vertices * (vertices - 1) / 2;
        width = 2;
        padded = shape[0];
    }

    SPARSEWOOD_HD Row row(int r) const { return {part(r, 1), 1, 0, 0}; }

    SPARSEWOOD_HD int64_t part(int slot, int option) const {
        if (option == 0) return -1;
        int64_t i = upper(slot);
        return i * padded + slot - i * (i - 1) / 2;
    }

    // Every tree has n - 1 edges, so it loses n - 1 times the constant.
    template <class G>
    SPARSEWOOD_HD void shift(const G& g, double* table) const {
        shift_in(g, table, slots);
    }

    SPARSEWOOD_HD int64_t event_size() const { return padded - 1; }

    // The parents of vertices 1, 2, ... in the tree rooted at vertex 0.
    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        for (int64_t v = g.lane(); v < padded - 1; v += g.size()) out[v] = -1;
        g.sync();
        for (bool more = true; more;) {
            double changed = 0;
            g.poll();
            for (int e = g.lane(); e < slots; e += g.size()) {
                if (!code[e]) continue;
                int i = upper(e), j = e - i * (i - 1) / 2;
                bool reached = out[i - 1] >= 0, other = j == 0 || out[j - 1] >= 0;
                if (reached == other) continue;
                reached ? out[j - 1] = i : out[i - 1] = j;
                changed = 1;
            }
            more = g.sum(changed) > 0;
            g.sync();
        }
    }

  private:
    static constexpr int kPoll = 256;  // vertices added between two polls
    int64_t padded;  // vertices of the caller's array

    static SPARSEWOOD_HD int edge(int i, int j) {
        return i > j ? i * (i - 1) / 2 + j : j * (j - 1) / 2 + i;
    }

    // The larger vertex of an edge.
    static SPARSEWOOD_HD int upper(int slot) {
        int i = static_cast<int>((1 + sqrt(8.0 * slot + 1)) / 2);
        return i * int64_t(i - 1) / 2 > slot ? i - 1 : i;
    }

    static SPARSEWOOD_HD double value(const double* cells) {
        return cells[0] == kForbidden ? -kForbidden : cells[1];
    }

    // Joins the trees of i and j in the forest `link`; false if they were in the same tree.
    SPARSEWOOD_HD bool join(int i, int j) {
        int a = root(i), b = root(j);
        if (a == b) return false;
        link[a > b ? a : b] = a > b ? b : a;
        return true;
    }

    SPARSEWOOD_HD int root(int v) {
        while (link[v] != v) v = link[v] = link[link[v]];
        return v;
    }

    // Inserts the edge i vertices + j into `order` of length `count`, after edges of equal score.
    SPARSEWOOD_HD void insert(const double* table, int ends, int count) {
        double s = table[base(edge(ends / vertices, ends % vertices)) + 1];
        for (; count > 0; --count) {
            int before = order[count - 1];
            if (table[base(edge(before / vertices, before % vertices)) + 1] >= s) break;
            order[count] = before;
        }
        order[count] = ends;
    }
};

SPARSEWOOD_HD inline int most_parts(const SpanningTrees& family) { return family.vertices - 1; }

}  // namespace sparsewood
