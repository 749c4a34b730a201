// MAP oracle for non-projective dependency trees: maximum spanning arborescence
// of a dense graph in O(n^2) (Tarjan 1977; Camerini et al. 1979), without recursion.
//
// A path of components is grown along best incoming arcs. When it meets itself the
// cycle becomes one component whose row holds, for every head j, the best
// arc from j into the cycle, relative to the cycle arc it would replace. Rows are merged,
// columns never: a head inside the own component is forbidden. Merging c rows costs
// O(c n) and leaves c - 1 components fewer, hence O(n^2) in all.
//
// With SingleRoot, scores are compared lexicographically: first the number of root
// arcs, counted in integers, then the score. The fewest root arcs is one whenever a
// tree with one root child exists, so the answer is exact and no constant is added.
#pragma once

#include "group.h"

namespace spinney {

struct Arborescence {
    int words;             // n
    int heads;             // n + 1 columns
    double* row_scores;    // (n, n + 1) merged rows
    int16_t* row_enters;   // (n, n + 1) the word a merged arc enters
    int16_t* row_roots;    // (n, n + 1) root arcs added by a merged arc, negated
    int16_t* component;    // (n + 1) representative of each word, 0 the root
    int16_t* row_of;       // (n + 1) slot of a representative's merged row, -1: its own scores
    int8_t* state;         // (n + 1) of representatives
    int16_t* path;         // (n + 1) representatives of the growing path
    int16_t* node_of;      // (n + 1) contraction node of a representative
    int16_t* parent;       // (2 n + 1) contraction forest; leaves 1..n are words
    int16_t* arc_head;     // (2 n + 1) the arc chosen into a node
    int16_t* arc_word;     // (2 n + 1)
    int8_t* removed;       // (2 n + 1)

    SPINNEY_HD void lay_out(Arena& arena, int n) {
        words = n;
        heads = n + 1;
        int64_t cells = int64_t(n) * (n + 1);
        row_scores = arena.take<double>(cells);
        row_enters = arena.take<int16_t>(cells);
        row_roots = arena.take<int16_t>(cells);
        component = arena.take<int16_t>(n + 1);
        row_of = arena.take<int16_t>(n + 1);
        state = arena.take<int8_t>(n + 1);
        path = arena.take<int16_t>(n + 1);
        node_of = arena.take<int16_t>(n + 1);
        parent = arena.take<int16_t>(2 * n + 1);
        arc_head = arena.take<int16_t>(2 * n + 1);
        arc_word = arena.take<int16_t>(2 * n + 1);
        removed = arena.take<int8_t>(2 * n + 1);
    }

    // scores: (n, n + 1), self arcs and forbidden arcs kForbidden. Writes tree (n).
    // False when no tree is left.
    template <bool SingleRoot, class G>
    SPINNEY_HD bool argmax(const G& g, const double* scores, int16_t* tree) {
        for (int w = g.lane(); w < heads; w += g.size()) {
            component[w] = static_cast<int16_t>(w);
            row_of[w] = -1;
            state[w] = w == 0 ? kDone : kNew;
            node_of[w] = static_cast<int16_t>(w);
        }
        for (int v = g.lane(); v < 2 * words + 1; v += g.size()) parent[v] = removed[v] = 0;
        g.sync();
        int nodes = words + 1, slots = 0;
        for (int start = 1; start <= words; ++start) {
            if (state[component[start]] != kNew) continue;
            int length = 0;
            int top = component[start];
            while (true) {
                if (g.leader()) {
                    path[length] = static_cast<int16_t>(top);
                    state[top] = kOnPath;
                }
                ++length;
                g.sync();
                if (!choose_arc<SingleRoot>(g, scores, top)) return false;
                int next = component[arc_head[node_of[top]]];
                int8_t seen = state[next];
                if (seen == kDone) break;
                if (seen == kOnPath) {
                    int first = length - 1;
                    while (path[first] != next) --first;
                    contract<SingleRoot>(g, scores, first, length, nodes++, slots);
                    length = first;
                }
                top = next;
            }
            for (int p = g.lane(); p < length; p += g.size()) state[path[p]] = kDone;
            g.sync();
        }
        expand(g, nodes, tree);
        return !SingleRoot || root_arcs(tree) == 1;
    }

  protected:
    SPINNEY_HD int root_arcs(const int16_t* tree) const {
        int count = 0;
        for (int i = 0; i < words; ++i) count += tree[i] == 0;
        return count;
    }

  private:
    static constexpr int8_t kNew = 0, kOnPath = 1, kMerged = 2, kDone = 3;

    // The best arc into the component of representative `top`.
    template <bool SingleRoot, class G>
    SPINNEY_HD bool choose_arc(const G& g, const double* scores, int top) {
        int slot = row_of[top], head;
        if (slot < 0) {
            const double* row = scores + int64_t(top - 1) * heads;
            if (SingleRoot) {
                head = g.argmax(row + 1, words) + 1;
                if (head == 0 && row[0] == kForbidden) head = -1;
            } else {
                head = g.argmax(row, heads);
            }
        } else {
            const double* row = row_scores + int64_t(slot) * heads;
            if (SingleRoot) {
                head = fewest_roots(row, row_roots + int64_t(slot) * heads);
            } else {
                head = g.argmax(row, heads);
            }
        }
        if (head < 0) return false;
        if (g.leader()) {
            int node = node_of[top];
            arc_head[node] = static_cast<int16_t>(head);
            arc_word[node] = slot < 0 ? static_cast<int16_t>(top)
                                      : row_enters[int64_t(slot) * heads + head];
        }
        g.sync();
        return true;
    }

    SPINNEY_HD int fewest_roots(const double* row, const int16_t* roots) const {
        int best = -1;
        for (int j = 0; j < heads; ++j) {
            if (row[j] == kForbidden) continue;
            if (best < 0 || roots[j] > roots[best] || (roots[j] == roots[best] && row[j] > row[best]))
                best = j;
        }
        return best;
    }

    // Merges the components path[first..length) into the one of path[first].
    template <bool SingleRoot, class G>
    SPINNEY_HD void contract(const G& g, const double* scores, int first, int length, int node,
                             int& slots) {
        int rep = path[first];
        int slot = -1;
        for (int p = first; p < length && slot < 0; ++p) slot = row_of[path[p]];
        bool fresh = slot < 0;
        if (fresh) slot = slots++;
        double* into = row_scores + int64_t(slot) * heads;
        int16_t* enters = row_enters + int64_t(slot) * heads;
        int16_t* roots = row_roots + int64_t(slot) * heads;
        // The row that already lives in the slot is rebased first, in place.
        bool filled = false;
        for (int pass = 0; pass < 2; ++pass)
            for (int p = first; p < length; ++p) {
                int member = path[p];
                bool in_place = row_of[member] == slot;
                if (in_place != (pass == 0)) continue;
                merge_row<SingleRoot>(g, scores, member, into, enters, roots, !filled);
                filled = true;
            }
        g.sync();
        for (int p = first + g.lane(); p < length; p += g.size()) {
            parent[node_of[path[p]]] = static_cast<int16_t>(node);
            state[path[p]] = kMerged;
        }
        g.sync();
        for (int j = g.lane(); j < heads; j += g.size())
            if (state[component[j]] == kMerged) {
                component[j] = static_cast<int16_t>(rep);
                into[j] = kForbidden;
            }
        g.sync();
        if (g.leader()) {
            row_of[rep] = static_cast<int16_t>(slot);
            node_of[rep] = static_cast<int16_t>(node);
            state[rep] = kOnPath;
        }
        g.sync();
    }

    // into[j] = max(into[j], row[j] - row[chosen head]) with the word it enters.
    template <bool SingleRoot, class G>
    SPINNEY_HD void merge_row(const G& g, const double* scores, int member, double* into,
                              int16_t* enters, int16_t* roots, bool first) {
        int slot = row_of[member], chosen = arc_head[node_of[member]];
        const double* row = slot < 0 ? scores + int64_t(member - 1) * heads
                                     : row_scores + int64_t(slot) * heads;
        const int16_t* enter = slot < 0 ? nullptr : row_enters + int64_t(slot) * heads;
        const int16_t* root = slot < 0 ? nullptr : row_roots + int64_t(slot) * heads;
        double base = row[chosen];
        int base_roots = !SingleRoot ? 0 : root ? root[chosen] : -(chosen == 0);
        g.sync();
        for (int j = g.lane(); j < heads; j += g.size()) {
            double value = row[j] - base;
            int16_t word = enter ? enter[j] : static_cast<int16_t>(member);
            int added = !SingleRoot ? 0 : (root ? root[j] : -(j == 0)) - base_roots;
            bool better = first || value > into[j];
            if (SingleRoot && !first && value != kForbidden && into[j] != kForbidden &&
                added != roots[j])
                better = added > roots[j];
            if (better) {
                into[j] = value;
                enters[j] = word;
                if (SingleRoot) roots[j] = static_cast<int16_t>(added);
            }
        }
        g.sync();
    }

    // Dismantles the contraction forest from the last node to the first: the arc of
    // a remaining node enters one word and cancels the arcs on the way down to it.
    template <class G>
    SPINNEY_HD void expand(const G& g, int nodes, int16_t* tree) {
        if (g.leader()) {
            for (int node = nodes - 1; node > 0; --node) {
                if (removed[node]) continue;
                int word = arc_word[node];
                tree[word - 1] = arc_head[node];
                for (int v = word; v != node; v = parent[v]) removed[v] = 1;
            }
        }
        g.sync();
    }
};

}  // namespace spinney
