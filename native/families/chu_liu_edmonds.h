// Chu-Liu-Edmonds, the MAP oracle for non-projective dependency trees: maximum spanning arborescence
// of a dense graph in O(n^2) (Tarjan 1977; Camerini et al. 1979), without recursion.
//
// A path of components is grown along best incoming arcs. When it meets itself the
// cycle becomes one component whose row holds, for every head j, the score of the best
// arc from j into the cycle, relative to the cycle arc it would replace. Rows are merged,
// columns never: a head inside the own component is forbidden. Merging c rows costs
// O(c n) and leaves c - 1 components fewer, hence O(n^2) in all. Which word a merged arc
// enters is looked up only for the arcs that are chosen.
//
// With SingleRoot, scores are compared lexicographically: first the number of root
// arcs, counted in integers, then the score. The fewest root arcs is one whenever a
// tree with one root child exists, so the answer is exact and no constant is added.
//
// Words and heads are numbered in 16 bits, as in a code. Nodes are up to twice as many, and need 32.
#pragma once

#include "group/group.h"

namespace sparsewood {

struct ChuLiuEdmonds {
    static constexpr int kPollRows = 64;  // of n + 1 scores, between two polls
    int words;  // n
    int heads;  // n + 1 columns
    // Nodes of the contraction forest: 1..n are words, those after it cycles.
    double* cycle_scores;  // (n, n + 1) rows of the cycles
    int16_t* cycle_roots;  // (n, n + 1) minus the root arcs that a merged arc adds
    double* base_score;    // (2 n + 1) of the arc that was chosen into a node
    int16_t* base_roots;   // (2 n + 1)
    int16_t* arc_head;     // (2 n + 1) that arc
    int32_t* parent;       // (2 n + 1)
    int32_t* child;        // (2 n + 1) first member of a cycle
    int32_t* sibling;      // (2 n + 1) next member of the same cycle, 0: the last
    int8_t* removed;       // (2 n + 1)
    // Components are named by one of their words.
    int16_t* component;  // (n + 1) of a word
    int32_t* node_of;    // (n + 1) of a component
    int8_t* state;       // (n + 1) of a component
    int16_t* path;       // (n + 1) components
    int16_t* next_word;  // (n + 1) of the same component, 0: the last
    int16_t* last_word;  // (n + 1) of a component

    SPARSEWOOD_HD void lay_out(Arena& arena, int n) {
        words = n;
        heads = n + 1;
        int64_t cells = int64_t(n) * heads, nodes = 2 * int64_t(n) + 1;
        cycle_scores = arena.take<double>(cells);
        cycle_roots = arena.take<int16_t>(cells);
        base_score = arena.take<double>(nodes);
        base_roots = arena.take<int16_t>(nodes);
        arc_head = arena.take<int16_t>(nodes);
        parent = arena.take<int32_t>(nodes);
        child = arena.take<int32_t>(nodes);
        sibling = arena.take<int32_t>(nodes);
        removed = arena.take<int8_t>(nodes);
        component = arena.take<int16_t>(heads);
        node_of = arena.take<int32_t>(heads);
        state = arena.take<int8_t>(heads);
        path = arena.take<int16_t>(heads);
        next_word = arena.take<int16_t>(heads);
        last_word = arena.take<int16_t>(heads);
    }

    // scores: (n, n + 1), self arcs and forbidden arcs kForbidden. Writes tree (n).
    // False when no tree is left.
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD bool argmax(const G& g, const double* scores, int16_t* tree) {
        for (int w = g.lane(); w < heads; w += g.size()) {
            component[w] = last_word[w] = static_cast<int16_t>(w);
            node_of[w] = w;
            next_word[w] = 0;
            state[w] = w == 0 ? kDone : kNew;
        }
        for (int v = g.lane(); v < 2 * words + 1; v += g.size()) parent[v] = removed[v] = 0;
        g.sync();
        int nodes = heads, rows = 0;
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
                if (++rows % kPollRows == 0) g.poll();
                if (!choose_arc<SingleRoot>(g, scores, node_of[top])) return false;
                int next = component[arc_head[node_of[top]]];
                int8_t seen = state[next];
                if (seen == kDone) break;
                if (seen == kOnPath) {
                    int first = length - 1;
                    while (path[first] != next) --first;
                    contract<SingleRoot>(g, scores, first, length, nodes++);
                    length = first;
                }
                top = next;
            }
            for (int p = g.lane(); p < length; p += g.size()) state[path[p]] = kDone;
            g.sync();
        }
        expand<SingleRoot>(g, scores, nodes, tree);
        return !SingleRoot || root_arcs(tree) == 1;
    }

  protected:
    SPARSEWOOD_HD int root_arcs(const int16_t* tree) const {
        int count = 0;
        for (int i = 0; i < words; ++i) count += tree[i] == 0;
        return count;
    }

  private:
    static constexpr int8_t kNew = 0, kOnPath = 1, kDone = 2;

    SPARSEWOOD_HD const double* row_of(const double* scores, int node) const {
        return node <= words ? scores + int64_t(node - 1) * heads
                             : cycle_scores + int64_t(node - heads) * heads;
    }

    SPARSEWOOD_HD int roots_at(int node, int head) const {
        return node <= words ? -(head == 0) : cycle_roots[int64_t(node - heads) * heads + head];
    }

    // The best arc into a node.
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD bool choose_arc(const G& g, const double* scores, int node) {
        const double* row = row_of(scores, node);
        int head = SingleRoot ? fewest_roots(row, node) : g.argmax(row, heads);
        if (head < 0) return false;
        int roots = SingleRoot ? roots_at(node, head) : 0;
        if (g.leader()) {
            arc_head[node] = static_cast<int16_t>(head);
            base_score[node] = row[head];
            base_roots[node] = static_cast<int16_t>(roots);
        }
        g.sync();
        return true;
    }

    SPARSEWOOD_HD int fewest_roots(const double* row, int node) const {
        int best = -1;
        for (int j = 0; j < heads; ++j) {
            if (row[j] == kForbidden) continue;
            int more = best < 0 ? 1 : roots_at(node, j) - roots_at(node, best);
            if (more > 0 || (more == 0 && row[j] > row[best])) best = j;
        }
        return best;
    }

    // The word that the arc from `head` into a node enters: down to the members it came from.
    template <bool SingleRoot>
    SPARSEWOOD_HD int entered(const double* scores, int node, int head) const {
        while (node > words) {
            double score = row_of(scores, node)[head];
            int member = child[node];
            while (
                row_of(scores, member)[head] - base_score[member] != score ||
                (SingleRoot && roots_at(member, head) - base_roots[member] != roots_at(node, head)))
                member = sibling[member];
            node = member;
        }
        return node;
    }

    // Merges the components path[first..length) into one, under the name of path[first].
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD void contract(const G& g, const double* scores, int first, int length, int node) {
        double* into = cycle_scores + int64_t(node - heads) * heads;
        int16_t* roots = cycle_roots + int64_t(node - heads) * heads;
        for (int p = first; p < length; ++p) {
            if (p % kPollRows == kPollRows - 1) g.poll();
            int member = node_of[path[p]];
            const double* row = row_of(scores, member);
            double base = base_score[member];
            if (SingleRoot) {
                merge_with_roots(g, row, member, into, roots, p == first);
            } else {
                g.rebase(row, base, heads, into, p == first);
            }
            if (g.leader()) {
                parent[member] = node;
                sibling[member] = p + 1 < length ? node_of[path[p + 1]] : 0;
            }
        }
        g.sync();
        if (g.leader()) join(path + first, length - first, node, into);
        g.sync();
    }

    // The words of `count` components become one component, whose own words are forbidden heads.
    SPARSEWOOD_HD void join(const int16_t* members, int count, int node, double* row) {
        int name = members[0];
        for (int p = 1; p < count; ++p) {
            next_word[last_word[name]] = members[p];
            last_word[name] = last_word[members[p]];
        }
        for (int w = name; w != 0; w = next_word[w]) {
            component[w] = static_cast<int16_t>(name);
            row[w] = kForbidden;
        }
        child[node] = node_of[name];
        node_of[name] = node;
    }

    template <class G>
    SPARSEWOOD_HD void merge_with_roots(const G& g, const double* row, int member, double* into,
                                        int16_t* roots, bool first) const {
        for (int j = g.lane(); j < heads; j += g.size()) {
            double score = row[j] - base_score[member];
            int16_t added = static_cast<int16_t>(roots_at(member, j) - base_roots[member]);
            bool better = first || score > into[j];
            if (!first && score != kForbidden && into[j] != kForbidden && added != roots[j])
                better = added > roots[j];
            if (better) into[j] = score, roots[j] = added;
        }
    }

    // Dismantles the contraction forest from the last node to the first: the arc of
    // a remaining node enters one word and cancels the arcs on the way down to it.
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD void expand(const G& g, const double* scores, int nodes, int16_t* tree) {
        if (g.leader()) {
            for (int node = nodes - 1; node > 0; --node) {
                if (removed[node]) continue;
                int word = entered<SingleRoot>(scores, node, arc_head[node]);
                tree[word - 1] = arc_head[node];
                for (int v = word; v != node; v = parent[v]) removed[v] = 1;
            }
        }
        g.sync();
    }
};

}  // namespace sparsewood
