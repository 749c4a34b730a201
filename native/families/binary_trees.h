// MAP oracle for binary trees over n words, their spans labelled or not, in O(n^3 + n^2 L): CKY.
//
// A tree is a code with one slot per span i..j of words: option 0 if it does not have the span,
// else 1 + label (one label if unlabelled). The slots are ordered by increasing i, then decreasing
// j, so that a span comes after the spans around it.
//
// The best tree over a span is its best label plus the best two trees over all split points. Each
// such maximum is over a sum of two contiguous rows, so the chart is also stored transposed. Labels
// and split points are not stored but recomputed when walking back.
#pragma once

#include "families/best_label.h"
#include "families/family.h"
#include "families/max_plus.h"

namespace sparsewood {

struct BinaryTrees {
    static constexpr bool kEmpty = true;
    static constexpr double kCross = 1e-5;
    int words, labels;
    int slots, penalised, rows, width;
    int padded;     // words of the caller's array
    bool labelled;  // in the caller's events

    double* inside;    // [i][j] the best tree over i..j
    double* inside_t;  // [j][i]
    int16_t* stack;    // (2 n, 2) spans to walk back
    // For cross():
    int32_t* around;       // (n, 2) the shared spans around a slot: last word and index
    double* gain;          // (2 n) per shared span: gain of the spans between it and the next
    int32_t* loose;        // (2 n) the slots of spans that are in only one tree
    int32_t* loose_owner;  // (2 n) the index of the innermost shared span around each

    SPARSEWOOD_HD int64_t base(int slot) const { return int64_t(slot) * width; }

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        inside = arena.take<double>(int64_t(words) * words);
        inside_t = arena.take<double>(int64_t(words) * words);
        stack = arena.take<int16_t>(4 * words);
    }

    SPARSEWOOD_HD void lay_out_cross(Arena& arena) {
        around = arena.take<int32_t>(2 * words);
        gain = arena.take<double>(2 * words);
        loose = arena.take<int32_t>(2 * words);
        loose_owner = arena.take<int32_t>(2 * words);
    }

    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        for (int s = g.lane(); s < slots; s += g.size()) code[s] = 0;
        read_spans(g, table);
        for (int wide = 1; wide < words; ++wide) {
            if (wide % 16 == 0 || words > kLong) g.poll();
            for (int i = g.lane(); i + wide < words; i += g.size()) {
                int j = i + wide;
                inside[cell(i, j)] +=
                    best_sum(inside + cell(i, i), inside_t + cell(j, i + 1), wide);
                inside_t[cell(j, i)] = inside[cell(i, j)];
            }
            g.sync();
        }
        if (inside[cell(0, words - 1)] == kForbidden) return false;
        if (g.leader()) walk_back(table, code);
        g.sync();
        return true;
    }

    // The spans of each tree between a shared span and the next shared spans inside it can be
    // exchanged as a whole. So can the labels of a shared span.
    SPARSEWOOD_HD double cross(const double* table, int16_t* a, const int16_t* b) const {
        int shared = 0, count = 0, depth = 0, slot = 0;
        double rise = 0;
        for (int i = 0; i < words; ++i) {
            for (int j = words - 1; j >= i; --j, ++slot) {
                if (a[slot] == 0 && b[slot] == 0) continue;
                while (depth > 0 && around[2 * depth - 2] < i) --depth;
                const double* options = table + base(slot);
                double more = options[b[slot]] - options[a[slot]];
                if (a[slot] != 0 && b[slot] != 0) {
                    if (more > 0) a[slot] = b[slot], rise += more;
                    around[2 * depth] = j;
                    around[2 * depth + 1] = shared;
                    ++depth;
                    gain[shared++] = 0;
                } else {
                    loose[count] = slot;
                    loose_owner[count] = around[2 * depth - 1];
                    gain[loose_owner[count++]] += more;
                }
            }
        }
        for (int s = 0; s < shared; ++s)
            if (gain[s] > 0) rise += gain[s];
        for (int k = 0; k < count; ++k)
            if (gain[loose_owner[k]] > 0) a[loose[k]] = b[loose[k]];
        return rise;
    }

    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        fix_row(table + base(slot), width, option);
    }

    // size: (n); shape: (N, N) or (N, N, L); options: (labelled).
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape, const int64_t* options) {
        words = static_cast<int>(size[0]);
        padded = static_cast<int>(shape[0]);
        labelled = options[0] != 0;
        labels = labelled ? static_cast<int>(shape[2]) : 1;
        slots = penalised = rows = words * (words + 1) / 2;
        width = labels + 1;
    }

    SPARSEWOOD_HD Row row(int slot) const { return {part(slot, 1), 1, 0, 0}; }

    SPARSEWOOD_HD int64_t part(int slot, int option) const {
        if (option == 0) return -1;
        // Counted from the last slot, the rows of the triangle hold 1, 2, 3... spans.
        int left = slots - 1 - slot, i = static_cast<int>((sqrt(8.0 * left + 1) - 1) / 2);
        int first = words - 1 - i, last = first + left - i * (i + 1) / 2;
        return (int64_t(first) * padded + last) * labels + option - 1;
    }

    // Every tree has all leaves, the whole sentence, and n - 2 of the other spans.
    template <class G>
    SPARSEWOOD_HD void shift(const G& g, double* table) const {
        double top = kForbidden;
        for (int i = g.lane(); i < words; i += g.size())
            for (int j = i + 1; j < words; ++j) {
                double best = best_label_score(at(table, i, j), labels);
                if (j - i < words - 1 && best > top) top = best;
            }
        top = g.max(top);
        g.sync();
        for (int i = g.lane(); i < words; i += g.size())
            for (int j = i; j < words; ++j) {
                double* options = table + base(slot(i, j)) + 1;
                if (j == i || j - i == words - 1)
                    shift_row(options, labels);
                else if (top != kForbidden)
                    for (int l = 0; l < labels; ++l) options[l] -= top;
            }
    }

    SPARSEWOOD_HD int64_t event_size() const { return int64_t(padded) * padded; }

    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        for (int64_t k = g.lane(); k < event_size(); k += g.size()) out[k] = labelled ? -1 : 0;
        g.sync();
        for (int s = g.lane(); s < slots; s += g.size())
            if (code[s] != 0) out[part(s, code[s]) / labels] = labelled ? code[s] - 1 : 1;
    }

  private:
    static constexpr int kLong = 500;  // words; spans of one width then take a millisecond

    SPARSEWOOD_HD int64_t cell(int i, int j) const { return int64_t(i) * words + j; }

    SPARSEWOOD_HD int slot(int i, int j) const {
        return i * words - i * (i - 1) / 2 + words - 1 - j;
    }

    SPARSEWOOD_HD const double* at(const double* table, int i, int j) const {
        return table + base(slot(i, j)) + 1;
    }

    // The chart of single spans. A span whose empty option is forbidden must be in the tree, which
    // is enforced by forbidding all spans that cross it.
    template <class G>
    SPARSEWOOD_HD void read_spans(const G& g, const double* table) {
        for (int i = g.lane(); i < words; i += g.size()) {
            for (int j = i; j < words; ++j)
                inside[cell(i, j)] = best_label_score(at(table, i, j), labels);
            inside_t[cell(i, i)] = inside[cell(i, i)];
        }
        g.sync();
        for (int i = g.lane(); i < words; i += g.size())
            for (int j = i; j < words; ++j)
                if (table[base(slot(i, j))] == kForbidden) forbid_crossing(i, j);
        g.sync();
    }

    SPARSEWOOD_HD void forbid_crossing(int first, int last) {
        for (int i = 0; i < first; ++i)
            for (int j = first; j < last; ++j) inside[cell(i, j)] = kForbidden;
        for (int i = first + 1; i <= last; ++i)
            for (int j = last + 1; j < words; ++j) inside[cell(i, j)] = kForbidden;
    }

    SPARSEWOOD_HD void walk_back(const double* table, int16_t* code) {
        int depth = push(0, 0, words - 1);
        while (depth > 0) {
            --depth;
            int i = stack[2 * depth], j = stack[2 * depth + 1];
            code[slot(i, j)] = static_cast<int16_t>(1 + best_label(at(table, i, j), labels));
            if (i == j) continue;
            int k = i + best_sum_at(inside + cell(i, i), inside_t + cell(j, i + 1), j - i);
            depth = push(push(depth, i, k), k + 1, j);
        }
    }

    SPARSEWOOD_HD int push(int depth, int i, int j) {
        stack[2 * depth] = static_cast<int16_t>(i);
        stack[2 * depth + 1] = static_cast<int16_t>(j);
        return depth + 1;
    }
};

}  // namespace sparsewood
