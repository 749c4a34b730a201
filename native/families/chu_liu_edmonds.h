// Chu-Liu-Edmonds, the MAP oracle for non-projective dependency trees: maximum spanning
// arborescence of a dense graph in O(n^2) (Tarjan 1977; Camerini et al. 1979), without recursion.
//
// A path of components is grown along best incoming arcs. If it meets itself, the cycle becomes one
// component whose row holds, for every head j, the score of the best arc from j into the cycle,
// relative to the cycle arc that it would replace. Rows are merged, columns never: heads within the
// same component are forbidden. Merging c rows costs O(c n) and removes c - 1 components, hence
// O(n^2) in total. The word that a merged arc enters is looked up only for chosen arcs.
//
// Each lane of a Group finds the best heads of its words. When a cycle is contracted, lanes are
// heads; when it is expanded, lanes are its members. A thread merges whole rows instead, unless it
// has to count root arcs. Cycles are nested so deeply that a parallel search for cycles would find
// one at a time.
//
// With SingleRoot, scores are compared lexicographically: first the number of root arcs, counted in
// integers, then the score. The minimum number of root arcs is one if a tree with one root child
// exists, so the result is exact and no constant is added.
//
// Words and heads are stored in 16 bits, as in a code. There are up to twice as many nodes, which
// need 32 bits.
#pragma once

#include "families/family.h"

namespace sparsewood {

struct ChuLiuEdmonds {
    static constexpr int kPollRows = 64;  // rows of n + 1 scores between two polls
    int words;  // n
    int heads;  // n + 1 columns
    int nodes;  // number of nodes in the last call
    // Nodes of the contraction forest: 0 is the root, 1..n are words, those after it cycles.
    double* cycle_scores;  // (n, n + 1) rows of the cycles
    int16_t* cycle_roots;  // (n, n + 1) minus the root arcs that a merged arc adds
    int32_t* begin;        // (n + 1) offsets of the members of cycles
    int32_t* members;      // (2 n + 1) of all cycles, in the order of the path
    double* base_score;    // (2 n + 1) of the arc chosen into a node
    int16_t* base_roots;   // (2 n + 1)
    int16_t* arc_head;     // (2 n + 1) that arc
    int32_t* position;     // (2 n + 1) of a component on the path, from 1 on; kNew, kDone
    int32_t* component;    // (n + 1) the outermost node that contains a word
    int32_t* path;         // (n + 1) components
    // With one lane: the words of the components on the path, in its order, and their offsets.
    int16_t* path_words;  // (n + 1)
    int16_t* first_word;  // (n + 1)
    int words_on_path;

    SPARSEWOOD_HD void lay_out(Arena& arena, int n) {
        words = n;
        heads = n + 1;
        int64_t cells = int64_t(n) * heads, most = 2 * int64_t(n) + 1;
        cycle_scores = arena.take<double>(cells);
        cycle_roots = arena.take<int16_t>(cells);
        begin = arena.take<int32_t>(heads);
        members = arena.take<int32_t>(most);
        base_score = arena.take<double>(most);
        base_roots = arena.take<int16_t>(most);
        arc_head = arena.take<int16_t>(most);
        position = arena.take<int32_t>(most);
        component = arena.take<int32_t>(heads);
        path = arena.take<int32_t>(heads);
        path_words = arena.take<int16_t>(heads);
        first_word = arena.take<int16_t>(heads);
    }

    // scores: (n, n + 1), self arcs and forbidden arcs kForbidden. Writes tree (n).
    // False if no tree is left.
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD bool argmax(const G& g, const double* scores, int16_t* tree) {
        if (!choose_heads<SingleRoot>(g, scores)) return false;
        nodes = heads;
        for (int start = 1; start <= words; ++start) {
            int top = component[start], length = 0;
            if (position[top] != kNew) continue;
            words_on_path = 0;
            while (true) {
                g.sync();  // all have read the position of `top`
                if (g.leader()) {
                    path[length] = top;
                    position[top] = length + 1;
                }
                if (G::size() == 1 && top <= words) {
                    first_word[length] = static_cast<int16_t>(words_on_path);
                    path_words[words_on_path++] = static_cast<int16_t>(top);
                }
                ++length;
                g.sync();
                int next = component[arc_head[top]], place = position[next];
                if (place == kDone) break;
                if (place != kNew) {
                    next = nodes++;
                    if (next % kPollRows == 0) g.poll();
                    if (!contract<SingleRoot>(g, scores, place - 1, length, next)) return false;
                    length = place - 1;
                }
                top = next;
            }
            for (int p = g.lane(); p < length; p += g.size()) position[path[p]] = kDone;
            g.sync();
        }
        for (int node = nodes - 1; node > words; --node) open<SingleRoot>(g, scores, node);
        int roots = 0;
        for (int i = g.lane(); i < words; i += g.size()) {
            tree[i] = arc_head[i + 1];
            roots += tree[i] == 0;
        }
        g.sync();
        return !SingleRoot || g.total(roots) == 1;
    }

#ifndef __CUDACC_RTC__
    // After argmax<SingleRoot>() by a thread: what the second best tree scores less, and a word whose
    // head differs (Camerini, Fratta & Maffioli 1980, "The k best spanning arborescences of a
    // network"). One component gets its arc from elsewhere, the others keep theirs: from a head that
    // is not below the component, or from the same head into another member.
    template <bool SingleRoot>
    Second second(const double* scores, const int16_t* tree) {
        number_tree(tree);
        for (int node = heads; node < nodes; ++node)
            for (int m = begin[node - heads]; m < begin[node - heads + 1]; ++m)
                position[members[m]] = arc_head[members[m]] == arc_head[node] ? kEntered : kDone;
        Second found;
        for (int node = 1; node < nodes; ++node) {
            if (position[node] == kEntered) continue;
            if (node % kPollRows == 0) poll();
            Second own;
            int word = enter_elsewhere<SingleRoot>(scores, node, own);
            own.see(change_head<SingleRoot>(scores, node, word), word);
            found.see(own.drop, word - 1);
        }
        return found;
    }
#endif

  private:
    static constexpr int32_t kNew = 0, kDone = -1;
    static constexpr int32_t kEntered = -2;  // the arc into the cycle around it enters here

    // An arc into a component, compared by number of root arcs (if these count), then by score.
    struct Arc {
        double score = kForbidden;
        int roots = 0, head = -1;

        template <bool SingleRoot>
        SPARSEWOOD_HD void see(double other, int other_roots, int other_head) {
            bool better = other > score;
            if (SingleRoot && head >= 0 && other_roots != roots && other != kForbidden)
                better = other_roots > roots;
            if (better) score = other, roots = other_roots, head = other_head;
        }
    };

    SPARSEWOOD_HD const double* row_of(const double* scores, int node) const {
        return node <= words ? scores + (node - 1) * heads : cycle_scores + (node - heads) * heads;
    }

    SPARSEWOOD_HD int roots_at(int node, int head) const {
        return node <= words ? -(head == 0) : cycle_roots[(node - heads) * heads + head];
    }

    // The arc from a head into a node that becomes a member of a cycle.
    template <bool SingleRoot>
    SPARSEWOOD_HD double score_of(const double* scores, int node, int head, int& roots) const {
        roots = SingleRoot ? roots_at(node, head) - base_roots[node] : 0;
        return row_of(scores, node)[head] - base_score[node];
    }

    SPARSEWOOD_HD void keep(int node, const Arc& arc) {
        arc_head[node] = static_cast<int16_t>(arc.head);
        base_score[node] = arc.score;
        base_roots[node] = static_cast<int16_t>(arc.roots);
        position[node] = kNew;
    }

#ifndef __CUDACC_RTC__
    // Numbers the words below each word consecutively: component[w] to path[w] - 1.
    void number_tree(const int16_t* tree) {
        int16_t *child = path_words, *sibling = first_word;
        for (int w = 0; w < heads; ++w) child[w] = sibling[w] = 0;
        for (int w = words; w > 0; --w) {
            sibling[w] = child[tree[w - 1]];
            child[tree[w - 1]] = static_cast<int16_t>(w);
        }
        int next = 1;
        component[0] = 0;
        for (int w = child[0]; w > 0;) {
            component[w] = next++;
            if (child[w] > 0) {
                w = child[w];
                continue;
            }
            path[w] = next;
            while (w > 0 && sibling[w] == 0) {
                w = tree[w - 1];
                path[w] = next;
            }
            w = sibling[w];
        }
    }

    // Follows the arc into a node down to its word. Sees the losses of arcs from the same head into
    // other members on the way.
    template <bool SingleRoot>
    int enter_elsewhere(const double* scores, int node, Second& own) const {
        int head = arc_head[node];
        while (node > words) {
            double given = row_of(scores, node)[head];
            int roots = SingleRoot ? roots_at(node, head) : 0, inner = 0, added = 0;
            for (int m = begin[node - heads]; m < begin[node - heads + 1]; ++m) {
                int member = members[m];
                if (position[member] == kEntered) {
                    inner = member;
                    continue;
                }
                double score = score_of<SingleRoot>(scores, member, head, added);
                if (!SingleRoot || added == roots) own.see(given - score, 0);
            }
            node = inner;
        }
        return node;
    }

    // What the best arc into a node loses that comes from another head, not below `word`.
    template <bool SingleRoot>
    double change_head(const double* scores, int node, int word) const {
        const double* row = row_of(scores, node);
        int head = arc_head[node];
        auto low = static_cast<uint32_t>(component[word]);
        auto below = static_cast<uint32_t>(path[word]) - low;
        double best = kForbidden;
        for (int j = 0; j < heads; ++j) {
            bool legal = static_cast<uint32_t>(component[j]) - low >= below && j != head;
            if (SingleRoot) legal &= roots_at(node, j) == base_roots[node];
            double x = legal ? row[j] : kForbidden;
            best = x > best ? x : best;
        }
        return base_score[node] - best;
    }
#endif

    // The best arc of a row whose root arcs are not counted.
    template <class G>
    SPARSEWOOD_HD Arc best_of(const G& g, const double* row) const {
        int head = g.argmax(row, heads);
        return {head < 0 ? kForbidden : row[head], 0, head};
    }

    // The best head of every word, one word per lane. False if one has none.
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD bool choose_heads(const G& g, const double* scores) {
        bool none = false;
        for (int w = g.lane(); w < heads; w += g.size()) {
            if (w % kPollRows == kPollRows - 1) g.poll();
            component[w] = w;
            Arc arc;
            const double* row = row_of(scores, w == 0 ? 1 : w);
            if constexpr (G::size() == 1 && !SingleRoot) {
                arc = best_of(g, row);
            } else {
                for (int j = 0; j < heads; ++j)
                    arc.see<SingleRoot>(row[j], SingleRoot ? -(j == 0) : 0, j);
            }
            keep(w, arc);
            none |= arc.head < 0;
        }
        if (g.leader()) position[0] = kDone, begin[0] = 0;
        g.sync();
        return !g.any(none);
    }

    // Contracts path[first..length) to a node: its row, and its best arc. False if it has none.
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD bool contract(const G& g, const double* scores, int first, int length, int node) {
        int to = begin[node - heads];
        for (int p = first + g.lane(); p < length; p += g.size())
            members[to + p - first] = path[p];
        if (g.leader()) begin[node - heads + 1] = to + length - first;
        g.sync();  // all have read the component of the last head
        Arc best;
        if constexpr (G::size() == 1 && !SingleRoot)
            best = merge_rows(g, scores, first, length, node);
        else
            best = merge_columns<SingleRoot>(g, scores, first, length, node);
        if (best.head < 0) return false;
        if (g.leader()) keep(node, best);
        g.sync();
        return true;
    }

    template <bool SingleRoot, class G>
    SPARSEWOOD_HD Arc merge_columns(const G& g, const double* scores, int first, int length,
                                    int node) {
        double* row = cycle_scores + (node - heads) * heads;
        int16_t* roots = cycle_roots + (node - heads) * heads;
        Arc best;
        for (int j = g.lane(); j < heads; j += g.size()) {
            if (j % kPollRows == kPollRows - 1) g.poll();
            Arc arc;
            if (position[component[j]] > first) {  // it is in the cycle
                component[j] = node;
            } else {
                for (int p = first; p < length; ++p) {
                    int added;
                    double score = score_of<SingleRoot>(scores, path[p], j, added);
                    arc.see<SingleRoot>(score, added, j);
                }
            }
            row[j] = arc.score;
            if (SingleRoot) roots[j] = static_cast<int16_t>(arc.roots);
            best.see<SingleRoot>(arc.score, arc.roots, j);
        }
        if (SingleRoot && best.roots != g.largest(best.head < 0 ? -heads : best.roots))
            best = Arc();
        int head = g.argmax(best.score, best.head);
        g.sync();
        if (head < 0) return Arc();
        return {row[head], SingleRoot ? roots[head] : 0, head};
    }

    template <class G>
    SPARSEWOOD_HD Arc merge_rows(const G& g, const double* scores, int first, int length,
                                 int node) {
        double* row = cycle_scores + (node - heads) * heads;
        for (int p = first; p < length; ++p) {
            if (p % kPollRows == kPollRows - 1) g.poll();
            g.rebase(row_of(scores, path[p]), base_score[path[p]], heads, row, p == first);
        }
        for (int k = first_word[first]; k < words_on_path; ++k) {
            component[path_words[k]] = node;
            row[path_words[k]] = kForbidden;
        }
        return best_of(g, row);
    }

    // The arc into a cycle enters the first member with its score, and replaces that member's arc.
    template <bool SingleRoot, class G>
    SPARSEWOOD_HD void open(const G& g, const double* scores, int node) {
        int head = arc_head[node], stop = begin[node - heads + 1];
        double score = row_of(scores, node)[head];
        int roots = SingleRoot ? roots_at(node, head) : 0;
        for (int start = begin[node - heads]; start < stop; start += g.size()) {
            int m = start + g.lane(), added;
            bool enters = m < stop &&
                          score_of<SingleRoot>(scores, members[m], head, added) == score &&
                          (!SingleRoot || added == roots);
            uint32_t found = g.ballot(enters);
            if (found == 0) continue;
            if (g.lane() == lowest_bit(found)) arc_head[members[m]] = static_cast<int16_t>(head);
            break;
        }
        g.sync();
    }
};

}  // namespace sparsewood
