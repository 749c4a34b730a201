// MAP oracles for monotone alignments of two sequences.
//
// Warping: paths from the first cell to the last by steps (1, 0), (0, 1) and (1, 1) (dynamic time
// warping, Sakoe & Chiba 1978). A path meets each antidiagonal of the scores in at most one cell,
// which is its code. The chart advances antidiagonal by antidiagonal.
//
// GappedAlignment: sets of cells that increase strictly in both sequences; gaps are free (Needleman
// & Wunsch 1970). The code is that of a partial matching.
#pragma once

#include "families/bipartite.h"

namespace sparsewood {

struct Warping {
    static constexpr int kPoll = 256;  // antidiagonals between two polls
    static constexpr bool kEmpty = true;
    static constexpr double kCross = 1e-5;
    int slots, penalised, rows, width;  // slot k: the antidiagonal i + j = k
    int shorter, longer;                // cells (i, j) with i < shorter, j < longer
    bool transposed;                    // i counts the columns of the scores
    int stride;                         // shorter + 2: a guard on both sides
    double* chart;  // (slots + 1, stride) best path to (i, k - i), at k + 1, i + 1

    SPARSEWOOD_HD int64_t base(int slot) const { return int64_t(slot) * width; }

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        stride = shorter + 2;
        chart = arena.take<double>(int64_t(slots + 1) * stride);
    }
    SPARSEWOOD_HD void lay_out_cross(Arena&) {}

    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        for (int i = g.lane(); i < stride; i += g.size()) chart[i] = kForbidden;
        if (g.leader()) {
            chart[stride] = chart[stride + 2] = kForbidden;
            chart[stride + 1] = table[1];
        }
        g.sync();
        for (int k = 1; k < slots; ++k) {
            if (k % kPoll == 0) g.poll();
            advance(g, table, k);
        }
        double* end = paths(slots - 1) + shorter - 1;
        if (*end == kForbidden) return false;
        if (g.leader()) walk_back(table, code);
        g.sync();
        return true;
    }

    // The segments between cells shared by both paths can be exchanged.
    SPARSEWOOD_HD double cross(const double* table, int16_t* a, const int16_t* b) const {
        double total = 0, gain = 0;
        int from = 0;
        for (int k = 0; k < slots; ++k) {
            const double* row = table + base(k);
            gain += row[b[k]] - row[a[k]];
            if (a[k] != b[k] || a[k] == 0) continue;
            if (gain > 0) {
                total += gain;
                for (int s = from; s < k; ++s) a[s] = b[s];
            }
            gain = 0;
            from = k + 1;
        }
        return total;
    }

    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        fix_row(table + base(slot), width, option);
    }

    // size, shape: rows and columns.
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape, const int64_t*) {
        transposed = size[0] > size[1];
        shorter = static_cast<int>(size[transposed ? 1 : 0]);
        longer = static_cast<int>(size[transposed ? 0 : 1]);
        slots = penalised = rows = shorter + longer - 1;
        width = shorter + 1;
        padded_rows = shape[0];
        padded_columns = shape[1];
    }

    SPARSEWOOD_HD Row row(int k) const {
        int cells = last(k) - first(k) + 1;
        return {cell(first(k), k), transposed ? 1 - padded_columns : padded_columns - 1, cells,
                shorter};
    }

    SPARSEWOOD_HD int64_t part(int slot, int option) const {
        return option == 0 ? -1 : cell(first(slot) + option - 1, slot);
    }

    // The option of (i, slot - i).
    SPARSEWOOD_HD int option(int i, int slot) const { return i - first(slot) + 1; }

    template <class G>
    SPARSEWOOD_HD void shift(const G&, double*) const {}

    SPARSEWOOD_HD int64_t event_size() const { return padded_rows * padded_columns; }

    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        mark_parts(g, *this, code, out);
    }

  private:
    int64_t padded_rows, padded_columns;  // of the caller's array

    // The range of i on an antidiagonal.
    SPARSEWOOD_HD int first(int k) const { return k < longer ? 0 : k - longer + 1; }
    SPARSEWOOD_HD int last(int k) const { return k < shorter ? k : shorter - 1; }

    // The paths that end on an antidiagonal, by i.
    SPARSEWOOD_HD double* paths(int k) const { return chart + int64_t(k + 1) * stride + 1; }

    // The index of (i, k - i) in the caller's array.
    SPARSEWOOD_HD int64_t cell(int i, int k) const {
        return transposed ? (k - i) * padded_columns + i : i * padded_columns + (k - i);
    }

    template <class G>
    SPARSEWOOD_HD void advance(const G& g, const double* table, int k) {
        int low = first(k), high = last(k);
        const double *one = paths(k - 1), *two = paths(k - 2);
        const double* scores = table + base(k) + 1 - low;
        double over = table[base(k - 1)];
        double* now = paths(k);
        for (int i = low + g.lane(); i <= high; i += g.size()) {
            double best = one[i - 1] > one[i] ? one[i - 1] : one[i];
            double diagonal = two[i - 1] + over;
            now[i] = (diagonal > best ? diagonal : best) + scores[i];
        }
        if (g.leader()) now[low - 1] = now[high + 1] = kForbidden;
        g.sync();
    }

    // Ties go to the diagonal step, then to the step from i - 1.
    SPARSEWOOD_HD void walk_back(const double* table, int16_t* code) const {
        int k = slots - 1, i = shorter - 1;
        while (true) {
            code[k] = static_cast<int16_t>(option(i, k));
            if (k == 0) return;
            const double* one = paths(k - 1);
            double best = one[i - 1] > one[i] ? one[i - 1] : one[i];
            if (paths(k - 2)[i - 1] + table[base(k - 1)] >= best) {
                code[--k] = 0;
                --i;
            } else if (one[i - 1] == best) {
                --i;
            }
            --k;
        }
    }
};

struct GappedAlignment : Bipartite<true> {
    static constexpr int kPoll = 256;  // slots between two polls
    double* chart;   // (slots + 1, width) best alignment of the first members of both sequences
    int16_t* after;  // for cross(): (slots + 1) the first partner in either, from a slot on

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        chart = arena.take<double>(int64_t(slots + 1) * width);
    }

    SPARSEWOOD_HD void lay_out_cross(Arena& arena) { after = arena.take<int16_t>(slots + 1); }

    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        for (int j = g.lane(); j < width; j += g.size()) chart[j] = 0;
        g.sync();
        for (int i = 0; i < slots; ++i) {
            if (i % kPoll == kPoll - 1) g.poll();
            const double *row = table + base(i), *before = chart + base(i);
            double* now = chart + base(i + 1);
            for (int j = g.lane(); j < width; j += g.size()) {
                double alone = before[j] + row[0], pair = j ? before[j - 1] + row[j] : kForbidden;
                now[j] = pair > alone ? pair : alone;
            }
            g.sync();
            if (g.leader())
                for (int j = 1; j < width; ++j) now[j] = now[j - 1] > now[j] ? now[j - 1] : now[j];
            g.sync();
        }
        if (chart[base(slots) + width - 1] == kForbidden) return false;
        if (g.leader()) walk_back(table, code);
        g.sync();
        return true;
    }

    // Both alignments can be cut between two slots if all partners before the cut, in either,
    // precede all partners after it, in either. The pieces between two cuts can be exchanged.
    SPARSEWOOD_HD double cross(const double* table, int16_t* a, const int16_t* b) {
        after[slots] = static_cast<int16_t>(width);
        for (int i = slots - 1; i >= 0; --i) {
            after[i] = after[i + 1];
            if (a[i] && a[i] < after[i]) after[i] = a[i];
            if (b[i] && b[i] < after[i]) after[i] = b[i];
        }
        double total = 0, gain = 0;
        for (int i = 0, from = 0, before = 0; i < slots; ++i) {
            gain += table[base(i) + b[i]] - table[base(i) + a[i]];
            before = a[i] > before ? a[i] : before;
            before = b[i] > before ? b[i] : before;
            if (before >= after[i + 1]) continue;
            if (gain > 0) {
                total += gain;
                for (int s = from; s <= i; ++s) a[s] = b[s];
            }
            gain = 0;
            from = i + 1;
        }
        return total;
    }

    template <class G>
    SPARSEWOOD_HD void shift(const G&, double*) const {}

    SPARSEWOOD_HD int64_t event_size() const { return padded_rows * padded_columns; }

    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        mark_parts(g, *this, code, out);
    }

  private:
    // Ties go to the alignment with fewer cells, as early as possible.
    SPARSEWOOD_HD void walk_back(const double* table, int16_t* code) const {
        int j = width - 1;
        for (int i = slots - 1; i >= 0; --i) {
            const double *row = table + base(i), *before = chart + base(i);
            double best = chart[base(i + 1) + j];
            while (j > 0 && chart[base(i + 1) + j - 1] == best) --j;
            code[i] = 0;
            if (before[j] + row[0] != best) code[i] = static_cast<int16_t>(j--);
        }
    }
};

}  // namespace sparsewood
