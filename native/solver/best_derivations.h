// The k best structures of a chart (sums/chart.h), lazily: Huang & Chiang 2005, "Better k-best
// parsing", algorithm 3.
//
// A chart describes every structure by exactly one derivation: an alternative of each node that it
// uses. One pass finds the best derivation of each node. From then on every node has a list of its
// best derivations, the best first, which grows only as far as it is read: what follows the
// derivation by alternative m of the i-th and j-th derivations of its two cells is among those by
// (i + 1, j), or (0, j + 1) if i = 0, and those not taken yet. So the next structure takes little
// more than a walk through the previous one.
//
// A part with labels is the best of its labels. Its list has the labels by score, and the list of a
// head with such a part has the pairs of a derivation of the node and a label.
#pragma once

#include <algorithm>
#include <vector>

#include "families/best_label.h"
#include "families/max_plus.h"
#include "group/fail.h"
#include "group/memory.h"
#include "sums/chart.h"

namespace sparsewood {

// Derivations of one sum, which form a heap (Fredman, Sedgewick, Sleator & Tarjan 1986, "The
// pairing heap") until they are listed.
class DerivationLists {
  public:
    static constexpr int32_t kFirst = -1;    // of a derivation: the best one of its list
    static constexpr int32_t kNone = -1;     // nothing follows
    static constexpr int32_t kUnknown = -2;  // what follows has not been looked for

    struct Derivation {
        double value;
        int32_t alternative;
        int32_t a, b;  // derivations of the two cells
        int32_t next;  // in the list; in a heap the next sibling
        int32_t child;
    };

    struct List {
        int32_t first = kNone, last = kNone, heap = kNone;
        bool open = false;  // whether the heap has all alternatives
    };

    void clear() { all_.clear(); }

    Derivation& operator[](int32_t d) { return all_[static_cast<size_t>(d)]; }

    void begin(List& list, double value, int32_t alternative) {
        list.first = list.last = add({value, alternative, kFirst, kFirst, kUnknown, kNone});
    }

    void push(List& list, double value, int32_t alternative, int32_t a, int32_t b) {
        list.heap = meld(list.heap, add({value, alternative, a, b, kNone, kNone}));
    }

    // Moves the best derivation of the heap to the end of the list.
    void advance(List& list) {
        int32_t best = list.heap;
        (*this)[list.last].next = best;
        if (best == kNone) return;
        list.heap = meld_all((*this)[best].child);
        (*this)[best].next = kUnknown;
        list.last = best;
    }

  private:
    std::vector<Derivation> all_;

    int32_t add(Derivation d) {
        if (all_.size() == all_.capacity()) {
            int64_t bytes = static_cast<int64_t>(2 * all_.size() * sizeof(Derivation));
            if (all_.size() > INT32_MAX / 2 || (bytes >= kLargePiece && !has_memory(bytes)))
                fail_for_memory(bytes);
        }
        all_.push_back(d);
        return static_cast<int32_t>(all_.size() - 1);
    }

    bool is_before(int32_t x, int32_t y) {
        const Derivation &p = (*this)[x], &q = (*this)[y];
        if (p.value != q.value) return p.value > q.value;
        if (p.alternative != q.alternative) return p.alternative < q.alternative;
        return p.a != q.a ? p.a < q.a : p.b < q.b;
    }

    int32_t meld(int32_t x, int32_t y) {
        if (x == kNone) return y;
        if (is_before(y, x)) std::swap(x, y);
        (*this)[y].next = (*this)[x].child;
        (*this)[x].child = y;
        return x;
    }

    int32_t meld_all(int32_t siblings) {
        int32_t pairs = kNone, root = kNone;
        while (siblings != kNone) {
            int32_t x = siblings, y = (*this)[x].next;
            siblings = y == kNone ? kNone : (*this)[y].next;
            if (y != kNone) x = meld(x, y);
            (*this)[x].next = pairs;
            pairs = x;
        }
        while (pairs != kNone) {
            int32_t x = pairs;
            pairs = (*this)[x].next;
            root = root == kNone ? x : meld(root, x);
        }
        return root;
    }
};

template <class Chart>
class BestDerivations {
  public:
    Chart chart;

    // Approximate bytes of the pass over the chart, without the lists.
    int64_t bytes() const {
        return chart.cells * static_cast<int64_t>(sizeof(double) + sizeof(Origin) + sizeof(Sum));
    }

    bool fits() const {
        return chart.cells < INT32_MAX && (bytes() < kLargePiece || has_memory(bytes()));
    }

    // Finds the best structure; each_part(f) calls f(cell, the scores of the part's labels). False
    // if there is no structure.
    template <class EachPart>
    bool begin(EachPart each_part) {
        size_t cells = static_cast<size_t>(chart.cells);
        values_.assign(cells, kForbidden);
        if (origins_.size() < cells) origins_.resize(cells);
        sums_.clear();
        lists_.clear();
        if (chart.labels > 1) {
            sums_.resize(static_cast<size_t>(chart.parts));
            labels_.resize(static_cast<size_t>(chart.parts));
        }
        each_part([&](int64_t cell, const double* scores) {
            value(cell) = chart.labels > 1 ? best_label_score(scores, chart.labels) : *scores;
            if (chart.labels > 1) labels_[static_cast<size_t>(cell)] = scores;
        });
        int64_t nodes = 0;
        chart.template each_node<false>([&](const Node& node) {
            if (++nodes % kPoll == 0) poll();
            add_node(node);
        });
        current_ = kFirst;
        return value(chart.goal) != kForbidden;
    }

    // Finds the next best structure; false if there is none left.
    bool next() {
        poll();
        int32_t goal = origin(chart.goal).sum;
        int32_t after = following({goal, 0, 0}, current_);
        if (after == Lists::kUnknown) {
            extend(goal);
            after = following({goal, 0, 0}, current_);
        }
        if (after == Lists::kNone) return false;
        current_ = after;
        return true;
    }

    // Calls mark(cell, label) for the parts of the structure found last.
    template <class Mark>
    void each_used(Mark mark) {
        walk_.assign(1, {static_cast<int32_t>(chart.goal), current_});
        while (!walk_.empty()) {
            auto [cell, found] = walk_.back();
            walk_.pop_back();
            if (cell < chart.parts) {
                mark(cell, 0);
                continue;
            }
            auto [at, part] = origin(cell);
            if (sum(at).count == kPair) {
                Sum pair = sum(at);
                Lists::Derivation d = lists_[resolve(at, found)];
                mark(pair.b, lists_[resolve(pair.b, d.b)].alternative);
                at = pair.a, found = d.a;
            } else if (part >= 0) {
                mark(part, 0);
            }
            if (sum(at).count == 0) continue;
            Lists::Derivation d = lists_[resolve(at, found)];
            walk_.push_back({sum(at).a + d.alternative, d.a});
            walk_.push_back({sum(at).b + d.alternative, d.b});
        }
    }

  private:
    using Lists = DerivationLists;
    static constexpr int32_t kFirst = Lists::kFirst;
    static constexpr int kPoll = 1024;    // nodes between two polls
    static constexpr int32_t kPair = -1, kLabels = -2;  // instead of a number of alternatives

    // What has a list: a node; a head with a labelled part, the pair of a sum and a part; or the
    // labels of a part.
    struct Sum {
        int32_t a = 0, b = 0, count = kLabels;
        Lists::List list;
    };

    // The sum of a cell that is not a part, and a part whose only score is added to it, or -1.
    struct Origin {
        int32_t sum, part;
    };

    // What a derivation is made of on one side: derivations of a sum, plus `more`; -1: one value.
    struct Side {
        int32_t sum;
        double only, more;
    };

    struct Step {
        int32_t cell, derivation;
    };

    std::vector<double> values_;          // of the best derivation of each cell
    std::vector<const double*> labels_;   // the scores of the labels of each part
    std::vector<Origin> origins_;         // of cells that are no parts
    std::vector<Sum> sums_;               // with labels, the first are those of the parts
    Lists lists_;
    std::vector<int32_t> pending_;        // sums whose lists must grow
    std::vector<Step> walk_;
    int32_t current_ = kFirst;

    double& value(int64_t cell) { return values_[static_cast<size_t>(cell)]; }
    Origin& origin(int64_t cell) { return origins_[static_cast<size_t>(cell)]; }
    Sum& sum(int32_t s) { return sums_[static_cast<size_t>(s)]; }

    int32_t add_sum(int64_t a, int64_t b, int count) {
        sums_.push_back({static_cast<int32_t>(a), static_cast<int32_t>(b), count, {}});
        return static_cast<int32_t>(sums_.size() - 1);
    }

    void add_node(const Node& node) {
        double best = 0;
        if (node.count > 0) best = best_sum(&value(node.a), &value(node.b), node.count);
        int32_t own = add_sum(node.a, node.b, node.count);
        for (int h = 0; h < node.heads; ++h) {
            const Head& head = node.head[h];
            Origin from{own, static_cast<int32_t>(head.part)};
            if (head.part >= 0 && chart.labels > 1) from = {add_sum(own, head.part, kPair), -1};
            double x = head.part < 0 ? best : best + value(head.part);
            for (int r = 0; r < head.copies; ++r) {
                value(head.cell + r * head.step) = x;
                origin(head.cell + r * head.step) = from;
            }
        }
    }

    Side side_of(int32_t cell) {
        if (cell < chart.parts) return {-1, value(cell), 0};
        Origin from = origin(cell);
        if (sum(from.sum).count == 0) return {-1, value(cell), 0};
        return {from.sum, 0, from.part < 0 ? 0 : value(from.part)};
    }

    Side side_a(const Sum& of, int32_t m) {
        if (of.count == kLabels) return {-1, 0, 0};
        if (of.count == kPair) return sum(of.a).count == 0 ? Side{-1, 0, 0} : Side{of.a, 0, 0};
        return side_of(of.a + m);
    }

    Side side_b(const Sum& of, int32_t m) {
        if (of.count == kLabels) return {-1, 0, 0};
        return of.count == kPair ? Side{of.b, 0, 0} : side_of(of.b + m);
    }

    // The index of a derivation of a sum that may be kFirst.
    int32_t resolve(int32_t s, int32_t derivation) {
        if (derivation != kFirst) return derivation;
        Sum& of = sum(s);
        if (of.list.first == Lists::kNone) begin_list(s, of);
        return of.list.first;
    }

    void begin_list(int32_t s, Sum& of) {
        if (of.count == kLabels) {
            const double* scores = labels_[static_cast<size_t>(s)];
            int m = best_label(scores, chart.labels);
            return lists_.begin(of.list, scores[m], m);
        }
        int m = of.count > 0 ? best_sum_at(&value(of.a), &value(of.b), of.count) : 0;
        double best = of.count > 0 ? value(of.a + m) + value(of.b + m) : 0;
        if (of.count == kPair) best = value_of({of.a, 0, 0}, kFirst) + value(of.b);
        lists_.begin(of.list, best, m);
    }

    double value_of(Side side, int32_t derivation) {
        if (side.sum < 0) return side.only;
        if (sum(side.sum).count == 0) return side.more;
        return lists_[resolve(side.sum, derivation)].value + side.more;
    }

    // What follows a derivation on one side: an index, kNone or kUnknown.
    int32_t following(Side side, int32_t derivation) {
        if (side.sum < 0 || sum(side.sum).count == 0) return Lists::kNone;
        return lists_[resolve(side.sum, derivation)].next;
    }

    bool is_first(Side side, int32_t derivation) {
        return derivation == kFirst || derivation == sum(side.sum).list.first;
    }

    // All alternatives but the best, each with the best derivations of its cells.
    void open(int32_t s, Sum& of) {
        of.list.open = true;
        int32_t best = lists_[of.list.first].alternative;
        const double* scores = of.count == kLabels ? labels_[static_cast<size_t>(s)] : nullptr;
        int32_t count = of.count == kLabels ? chart.labels : of.count;
        for (int32_t m = 0; m < count; ++m) {
            double x = scores ? scores[m] : value(of.a + m) + value(of.b + m);
            if (m != best && x != kForbidden) lists_.push(of.list, x, m, kFirst, kFirst);
        }
    }

    void push(Sum& of, int32_t alternative, Side a, int32_t at_a, Side b, int32_t at_b) {
        lists_.push(of.list, value_of(a, at_a) + value_of(b, at_b), alternative, at_a, at_b);
    }

    // Finds what follows the last derivation of the list of a sum, and of the lists that it needs.
    void extend(int32_t wanted) {
        pending_.assign(1, wanted);
        while (!pending_.empty()) {
            int32_t s = pending_.back(), last = resolve(s, sum(s).list.last);
            Sum& of = sum(s);
            Lists::Derivation d = lists_[last];
            Side a = side_a(of, d.alternative), b = side_b(of, d.alternative);
            int32_t after_a = following(a, d.a), after_b = Lists::kNone;
            if (after_a == Lists::kUnknown) {
                pending_.push_back(a.sum);
                continue;
            }
            if (is_first(a, d.a)) after_b = following(b, d.b);
            if (after_b == Lists::kUnknown) {
                pending_.push_back(b.sum);
                continue;
            }
            if (!of.list.open) open(s, of);
            if (after_a != Lists::kNone) push(of, d.alternative, a, after_a, b, d.b);
            if (after_b != Lists::kNone) push(of, d.alternative, a, d.a, b, after_b);
            lists_.advance(of.list);
            pending_.pop_back();
        }
    }
};

}  // namespace sparsewood
