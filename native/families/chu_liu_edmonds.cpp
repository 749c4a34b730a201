// ChuLiuEdmonds::argmax for a CPU thread: the same choices, with rows read in vectors as wide as the
// machine has and no branches on scores. Maxima and differences round alike at any width.
#include "families/chu_liu_edmonds.h"

#include "group/wide.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"  // of vectors that no function call passes

namespace sparsewood {
namespace {

typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));
typedef double Two __attribute__((vector_size(16), aligned(8), may_alias));

SPARSEWOOD_INLINE Four load(const double* p) { return *reinterpret_cast<const Four*>(p); }
SPARSEWOOD_INLINE Four larger(Four a, Four b) { return a > b ? a : b; }

SPARSEWOOD_INLINE double largest(Four m) {
    Two low = {m[0], m[1]}, high = {m[2], m[3]};
    low = low > high ? low : high;
    return low[0] > low[1] ? low[0] : low[1];
}

// The largest entry seen in each of four columns, and where.
struct Largest {
    Four score, at;

    SPARSEWOOD_INLINE void see(const double* row, int i) {
        const Four lanes = {0, 1, 2, 3};
        Four x = load(row + i), here = lanes + static_cast<double>(i);
        at = x > score ? here : at;
        score = larger(x, score);
    }
};

// The lowest index of the largest of n >= 4 entries.
SPARSEWOOD_INLINE int find_largest(const double* row, int n, double& score) {
    const Four none = Four{} + 1e9, least = Four{} + kForbidden;
    Largest even{least, none}, odd{least, none};
    int i = 0;
    for (; i + 8 <= n; i += 8) even.see(row, i), odd.see(row, i + 4);
    if (i + 4 < n) even.see(row, i);
    odd.see(row, n - 4);
    score = largest(larger(even.score, odd.score));
    const Four top = Four{} + score;
    even.at = even.score == top ? even.at : none;
    odd.at = odd.score == top ? odd.at : none;
    return static_cast<int>(-largest(larger(-even.at, -odd.at)));
}

// into[j] = the largest of row[j] - base over Count rows, and of into[j] unless these are the
// first.
template <int Count>
SPARSEWOOD_INLINE void merge(const double* const* rows, const double* bases, bool first, int width,
                             double* into) {
    for (int j = 0; j < width; j += 4) {
        int at = j + 4 <= width ? j : width - 4;
        Four best = load(rows[0] + at) - bases[0];
        for (int r = 1; r < Count; ++r) best = larger(load(rows[r] + at) - bases[r], best);
        if (!first) best = larger(load(into + at), best);
        *reinterpret_cast<Four*>(into + at) = best;
    }
}

// What ChuLiuEdmonds does, in its memory.
struct Search {
    static constexpr int8_t kNew = 0, kOnPath = 1, kDone = 2;
    static constexpr int kPollRows = ChuLiuEdmonds::kPollRows;
    const ChuLiuEdmonds& a;
    const double* scores;

    SPARSEWOOD_INLINE bool run(int16_t* tree) const {
        size_t count = static_cast<size_t>(a.heads);
        for (int w = 0; w < a.heads; ++w) a.component[w] = static_cast<int16_t>(w);
        for (int w = 0; w < a.heads; ++w) a.node_of[w] = w;
        std::memcpy(a.last_word, a.component, count * sizeof(int16_t));
        std::memset(a.next_word, 0, count * sizeof(int16_t));
        std::memset(a.removed, 0, 2 * count - 1);
        std::memset(a.state, kNew, count);
        a.state[0] = kDone;
        bool complete = true;
        for (int w = 1; w < a.heads; ++w) {
            if (w % kPollRows == 0) poll();
            complete &= choose(w);
        }
        if (!complete) return false;
        int nodes = a.heads;
        for (int start = 1; start <= a.words; ++start) {
            if (a.state[a.component[start]] != kNew) continue;
            if (!grow(start, nodes)) return false;
        }
        expand(nodes, tree);
        return true;
    }

  private:
    SPARSEWOOD_INLINE const double* row_of(int node) const {
        bool word = node <= a.words;
        return (word ? scores : a.cycle_scores) + int64_t(node - (word ? 1 : a.heads)) * a.heads;
    }

    SPARSEWOOD_INLINE bool choose(int node) const {
        int head = find_largest(row_of(node), a.heads, a.base_score[node]);
        a.arc_head[node] = static_cast<int16_t>(head);
        return a.base_score[node] != kForbidden;
    }

    // A path of best arcs from a new component to one that is done.
    SPARSEWOOD_INLINE bool grow(int start, int& nodes) const {
        int length = 0, top = a.component[start];
        while (true) {
            a.path[length++] = static_cast<int16_t>(top);
            a.state[top] = kOnPath;
            int next = a.component[a.arc_head[a.node_of[top]]];
            if (a.state[next] == kDone) break;
            if (a.state[next] == kOnPath) {
                int first = length - 1;
                while (a.path[first] != next) --first;
                contract(first, length, nodes);
                if (nodes % kPollRows == 0) poll();
                if (!choose(nodes++)) return false;
                length = first;
            }
            top = next;
        }
        for (int p = 0; p < length; ++p) a.state[a.path[p]] = kDone;
        return true;
    }

    SPARSEWOOD_INLINE void contract(int first, int length, int node) const {
        double* into = a.cycle_scores + int64_t(node - a.heads) * a.heads;
        const double* rows[3];
        double bases[3];
        int count = 0, name = a.path[first], last = a.last_word[name];
        bool begun = false;
        for (int p = first; p < length; ++p) {
            if (p % kPollRows == kPollRows - 1) poll();
            int member = a.node_of[a.path[p]];
            rows[count] = row_of(member);
            bases[count++] = a.base_score[member];
            a.parent[member] = node;
            if (p > first) {
                a.sibling[a.node_of[a.path[p - 1]]] = member;
                a.next_word[last] = a.path[p];
                last = a.last_word[a.path[p]];
            }
            if (count == 3 || p + 1 == length) {
                if (count == 2)
                    merge<2>(rows, bases, !begun, a.heads, into);
                else if (count == 3)
                    merge<3>(rows, bases, !begun, a.heads, into);
                else
                    merge<1>(rows, bases, !begun, a.heads, into);
                begun = true;
                count = 0;
            }
        }
        a.sibling[a.node_of[a.path[length - 1]]] = 0;
        a.last_word[name] = static_cast<int16_t>(last);
        for (int w = name; w != 0; w = a.next_word[w]) {
            a.component[w] = static_cast<int16_t>(name);
            into[w] = kForbidden;
        }
        a.child[node] = a.node_of[name];
        a.node_of[name] = node;
    }

    SPARSEWOOD_INLINE void expand(int nodes, int16_t* tree) const {
        for (int node = nodes - 1; node > 0; --node) {
            if (a.removed[node]) continue;
            int word = node, head = a.arc_head[node];
            while (word > a.words) {
                double score = row_of(word)[head];
                int member = a.child[word];
                while (row_of(member)[head] - a.base_score[member] != score)
                    member = a.sibling[member];
                word = member;
            }
            tree[word - 1] = static_cast<int16_t>(head);
            for (int v = word; v != node; v = a.parent[v]) a.removed[v] = 1;
        }
    }
};

}  // namespace

SPARSEWOOD_WIDE bool argmax_wide(const ChuLiuEdmonds& memory, const double* scores, int16_t* tree) {
    return Search{memory, scores}.run(tree);
}

}  // namespace sparsewood
#endif
