// Maximum spanning arborescence for a Group with lanes: the contractions of arborescence.h, in
// rounds. In each, every new component chooses its best incoming arc, all cycles are found by
// pointer jumping and contracted at once. Rounds end when no cycle is left: after as many as cycles
// are nested, few of them, where growing one path takes a step for every word.
//
// Rows, columns and the order of preference with SingleRoot are those of arborescence.h.
#pragma once

#include "group.h"

namespace sparsewood {

struct ArborescenceRounds {
    int words;  // n
    int heads;  // n + 1 columns
    // Nodes of the contraction forest: 0 is the root, 1..n are words, those after it cycles.
    double* cycle_scores;  // (n, n + 1) rows of the cycles
    int16_t* cycle_roots;  // (n, n + 1) minus the root arcs that a merged arc adds
    int16_t* first;        // (n) a member of each cycle
    double* base_score;    // (2 n + 1) of the arc that was chosen into a node
    int16_t* base_roots;   // (2 n + 1)
    int16_t* arc_head;     // (2 n + 1) that arc
    int16_t* parent;       // (2 n + 1) the cycle that a node went into; 0: it is a component still
    int16_t* next;         // (2 n + 1) the component that the arc into a component comes from
    int16_t* jump;         // (2, 2 n + 1) the one many arcs away
    int16_t* least;        // (2, 2 n + 1) the smallest on the way there
    int8_t* on_cycle;      // (2 n + 1)
    int16_t* component;    // (n + 1) of a word

    SPARSEWOOD_HD void lay_out(Arena& arena, int n) {
        words = n;
        heads = n + 1;
        int64_t cells = int64_t(n) * heads, nodes = 2 * n + 1;
        cycle_scores = arena.take<double>(cells);
        cycle_roots = arena.take<int16_t>(cells);
        first = arena.take<int16_t>(n);
        base_score = arena.take<double>(nodes);
        base_roots = arena.take<int16_t>(nodes);
        arc_head = arena.take<int16_t>(nodes);
        parent = arena.take<int16_t>(nodes);
        next = arena.take<int16_t>(nodes);
        jump = arena.take<int16_t>(2 * nodes);
        least = arena.take<int16_t>(2 * nodes);
        on_cycle = arena.take<int8_t>(nodes);
        component = arena.take<int16_t>(heads);
    }

    // scores: (n, n + 1), self arcs and forbidden arcs kForbidden. Writes tree (n).
    // False when no tree is left.
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD bool argmax(const G& g, const double* scores, int16_t* tree) {
        for (int v = g.lane(); v < 2 * words + 1; v += g.size()) parent[v] = 0;
        if (!choose_heads<SingleRoot>(g, scores)) return false;
        int nodes = heads;
        while (int cycles = contract(g, nodes)) {
            for (int stop = nodes + cycles; nodes < stop; ++nodes)
                if (!merge<SingleRoot>(g, scores, nodes)) return false;
            g.sync();
        }
        expand<SingleRoot>(g, scores, nodes);
        int roots = 0;
        for (int i = g.lane(); i < words; i += g.size()) {
            tree[i] = arc_head[i + 1];
            roots += tree[i] == 0;
        }
        g.sync();
        return !SingleRoot || g.total(roots) == 1;
    }

  private:
    // An arc into a component, the better one by fewer root arcs (if those count), then by score.
    struct Arc {
        double score = kForbidden;
        int roots = 0, head = -1;

        template <bool SingleRoot>
        SPARSEWOOD_HD void see(double other, int other_roots, int other_head) {
            if (other == kForbidden) return;
            bool better = other > score;
            if (SingleRoot && head >= 0 && other_roots != roots) better = other_roots > roots;
            if (better) score = other, roots = other_roots, head = other_head;
        }
    };

    SPARSEWOOD_HD const double* row_of(const double* scores, int node) const {
        return node <= words ? scores + int64_t(node - 1) * heads
                             : cycle_scores + int64_t(node - heads) * heads;
    }

    SPARSEWOOD_HD int roots_at(int node, int head) const {
        return node <= words ? -(head == 0) : cycle_roots[int64_t(node - heads) * heads + head];
    }

    SPARSEWOOD_HD void keep(int node, const Arc& arc) {
        arc_head[node] = static_cast<int16_t>(arc.head);
        base_score[node] = arc.score;
        base_roots[node] = static_cast<int16_t>(arc.roots);
    }

    // The best head of every word, a lane for each. False when one has none.
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD bool choose_heads(const G& g, const double* scores) {
        int without = 0;
        for (int w = g.lane(); w < heads; w += g.size()) {
            component[w] = static_cast<int16_t>(w);
            if (w == 0) continue;
            const double* row = row_of(scores, w);
            Arc arc;
            for (int j = 0; j < heads; ++j)
                arc.see<SingleRoot>(row[j], SingleRoot ? roots_at(w, j) : 0, j);
            keep(w, arc);
            without += arc.head < 0;
        }
        g.sync();
        return g.total(without) == 0;
    }

    // Makes a node of every cycle among the components. Returns how many.
    template <class G>
    SPARSEWOOD_HD int contract(const G& g, int nodes) {
        const int size = 2 * words + 1;
        int16_t *far = jump, *low = least, *other_far = jump + size, *other_low = least + size;
        for (int v = g.lane(); v < nodes; v += g.size()) {
            bool is_component = v > 0 && parent[v] == 0;
            next[v] = far[v] = is_component ? component[arc_head[v]] : int16_t{0};
            low[v] = static_cast<int16_t>(v);
            on_cycle[v] = 0;
        }
        g.sync();
        // After so many arcs every component is at the root or on its cycle; those on a cycle are
        // reached from all around it, each from one.
        for (int reach = 1; reach < heads; reach *= 2) {
            for (int v = g.lane(); v < nodes; v += g.size()) {
                int16_t by = far[v], there = low[by];
                other_low[v] = there < low[v] ? there : low[v];
                other_far[v] = far[by];
            }
            g.sync();
            int16_t *f = far, *l = low;
            far = other_far, low = other_low;
            other_far = f, other_low = l;
        }
        for (int v = g.lane(); v < nodes; v += g.size())
            if (far[v] != 0) on_cycle[far[v]] = 1;
        g.sync();
        int cycles = 0;
        for (int begin = 0; begin < nodes; begin += g.size()) {
            int v = begin + g.lane();
            bool leads = v < nodes && on_cycle[v] && low[v] == v;
            int count, rank = cycles + g.rank(leads, count);
            if (leads) {
                other_far[v] = static_cast<int16_t>(nodes + rank);
                first[nodes + rank - heads] = static_cast<int16_t>(v);
            }
            cycles += count;
        }
        g.sync();
        if (cycles == 0) return 0;
        for (int v = g.lane(); v < nodes; v += g.size())
            if (on_cycle[v]) parent[v] = other_far[low[v]];
        g.sync();
        for (int w = 1 + g.lane(); w < heads; w += g.size())
            if (int16_t into = parent[component[w]]) component[w] = into;
        g.sync();
        return cycles;
    }

    // The row of a new node, and the best arc in it: lanes are heads. False when there is none.
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD bool merge(const G& g, const double* scores, int node) {
        double* row = cycle_scores + int64_t(node - heads) * heads;
        int16_t* roots = cycle_roots + int64_t(node - heads) * heads;
        const int start = first[node - heads];
        Arc best;
        for (int j = g.lane(); j < heads; j += g.size()) {
            Arc arc;
            if (component[j] != node) {
                int member = start;
                do {
                    double score = row_of(scores, member)[j] - base_score[member];
                    int added = SingleRoot ? roots_at(member, j) - base_roots[member] : 0;
                    arc.see<SingleRoot>(score, added, j);
                    member = next[member];
                } while (member != start);
            }
            row[j] = arc.score;
            if (SingleRoot) roots[j] = static_cast<int16_t>(arc.roots);
            best.see<SingleRoot>(arc.score, arc.roots, j);
        }
        if (SingleRoot && best.roots != g.largest(best.head < 0 ? -heads : best.roots))
            best = Arc();
        int head = g.argmax(best.score, best.head);
        g.sync();
        if (head < 0) return false;
        if (g.leader()) keep(node, {row[head], SingleRoot ? roots[head] : 0, head});
        return true;
    }

    // From the last cycle to the first: its arc enters one member, whose own arc it replaces.
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD void expand(const G& g, const double* scores, int nodes) {
        for (int node = nodes - 1; node > words; --node) {
            int head = arc_head[node], member = nodes;
            double score = row_of(scores, node)[head];
            int roots = SingleRoot ? roots_at(node, head) : 0;
            for (int v = 1 + g.lane(); v < node && member == nodes; v += g.size())
                if (parent[v] == node && row_of(scores, v)[head] - base_score[v] == score &&
                    (!SingleRoot || roots_at(v, head) - base_roots[v] == roots))
                    member = v;
            member = -g.largest(-member);
            if (g.leader()) arc_head[member] = static_cast<int16_t>(head);
            g.sync();
        }
    }
};

}  // namespace sparsewood
