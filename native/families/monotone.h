// MAP oracles for monotone paths with a chosen set of steps.
//
// A path leads from cell (0, 0) to the last cell of the scores; a step (down, right) goes down so
// many rows and right so many columns, each from 0 to 3. A path meets each of the lines of the
// scores in at most one cell, which is its code. If all steps go to the next column, the lines are
// the columns, of which none is left out (speech: Kim et al. 2020, "Glow-TTS", section 3.2);
// otherwise they are the antidiagonals. The chart advances line by line.
//
// With blanks, odd rows are labels and even rows blanks (CTC: Graves et al. 2006): a step down two
// rows leads to labels only, and paths may start in row 1 and end in the last row but one.
#pragma once

#include "families/family.h"
#include "families/step_set.h"

namespace sparsewood {

template <bool Diagonal>
struct Monotone {
    static constexpr int kPoll = 256;  // lines between two polls
    static constexpr bool kEmpty = Diagonal;
    static constexpr double kCross = 1e-5;
    int slots, penalised, rows, width;  // slot k: line k
    int height, length;                 // cells (i, j) with i < height, j < length
    bool transposed;                    // i counts the columns of the scores
    StepSet steps;                      // in terms of i and j
    int stride;                         // height, with a guard on both sides
    double* chart;                      // (slots, stride) the best path to each cell of a line

    SPARSEWOOD_HD int64_t base(int slot) const { return int64_t(slot) * width; }

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        stride = height + 2 * StepSet::kReach;
        chart = arena.take<double>(int64_t(slots) * stride);
    }
    SPARSEWOOD_HD void lay_out_cross(Arena&) {}

    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        for (int k = 0; k < slots; ++k) {
            if (k % kPoll == kPoll - 1) g.poll();
            advance(g, table, k);
        }
        const double* last = paths(slots - 1);
        int end = height - 1;
        if (steps.blanks && end > 0 && last[end - 1] > last[end]) --end;
        if (last[end] == kForbidden) return false;
        if (g.leader()) walk_back(table, end, code);
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
            bool shared = a[k] == b[k] && !(kEmpty && a[k] == 0);
            if (!shared && k < slots - 1) continue;
            if (gain > 0) {
                total += gain;
                for (int s = from; s <= k; ++s) a[s] = b[s];
            }
            gain = 0;
            from = k + 1;
        }
        return total;
    }

    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        fix_row(table + base(slot), width, option);
    }

    // size, shape: rows and columns; options: whether lines are antidiagonals, the steps.
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape, const int64_t* options) {
        steps.read(options[1]);
        transposed = Diagonal ? size[0] > size[1] : steps.transposed;
        height = static_cast<int>(size[transposed ? 1 : 0]);
        length = static_cast<int>(size[transposed ? 0 : 1]);
        slots = penalised = rows = Diagonal ? height + length - 1 : length;
        width = height + kEmpty;
        padded_rows = shape[0];
        padded_columns = shape[1];
        if (!transposed) return;
        for (int s = 0; s < steps.count; ++s) {
            int down = steps.down[s];
            steps.down[s] = steps.right[s], steps.right[s] = down;
        }
    }

    SPARSEWOOD_HD Row row(int k) const {
        int64_t down = transposed ? 1 : padded_columns, right = transposed ? padded_columns : 1;
        if (!Diagonal) return {cell(0, k), down, 0, 0};
        return {cell(first(k), k), down - right, last(k) - first(k) + 1, height};
    }

    SPARSEWOOD_HD int64_t part(int slot, int option) const {
        if (kEmpty && option == 0) return -1;
        return cell(first(slot) + option - kEmpty, slot);
    }

    // A path has one cell in each column.
    template <class G>
    SPARSEWOOD_HD void shift(const G& g, double* table) const {
        if (Diagonal) return;
        for (int k = g.lane(); k < slots; k += g.size()) shift_row(table + base(k), width);
    }

    SPARSEWOOD_HD int64_t event_size() const { return padded_rows * padded_columns; }

    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        for (int64_t c = g.lane(); c < event_size(); c += g.size()) out[c] = 0;
        g.sync();
        for (int k = g.lane(); k < slots; k += g.size())
            if (!kEmpty || code[k] > 0) out[part(k, code[k])] = 1;
    }

  private:
    int64_t padded_rows, padded_columns;  // of the caller's array

    // The range of i on a line.
    SPARSEWOOD_HD int first(int k) const { return !Diagonal || k < length ? 0 : k - length + 1; }
    SPARSEWOOD_HD int last(int k) const { return !Diagonal || k >= height ? height - 1 : k; }

    // How many lines a step goes ahead.
    SPARSEWOOD_HD int ahead(int step) const {
        return Diagonal ? steps.down[step] + steps.right[step] : 1;
    }

    // The paths that end on a line, by i.
    SPARSEWOOD_HD double* paths(int k) const {
        return chart + int64_t(k) * stride + StepSet::kReach;
    }

    // The index of a cell of line k in the caller's array.
    SPARSEWOOD_HD int64_t cell(int i, int k) const {
        int64_t j = Diagonal ? k - i : k;
        return transposed ? j * padded_columns + i : i * padded_columns + j;
    }

    // The score of leaving out the lines that a step to line k passes over.
    SPARSEWOOD_HD double over(const double* table, int step, int k) const {
        double s = 0;
        for (int passed = k - ahead(step) + 1; passed < k; ++passed) s += table[base(passed)];
        return s;
    }

    SPARSEWOOD_HD bool is_start(int i, int k) const {
        return k == 0 && (i == 0 || (i == 1 && steps.blanks));
    }

    template <class G>
    SPARSEWOOD_HD void advance(const G& g, const double* table, int k) {
        int low = first(k), high = last(k);
        double* now = paths(k);
        if (g.leader())
            for (int v = 1; v <= StepSet::kReach; ++v) now[-v] = now[high + v] = kForbidden;
        for (int i = low + g.lane(); i <= high; i += g.size())
            now[i] = is_start(i, k) ? 0 : kForbidden;
        for (int s = 0; s < steps.count; ++s) {
            if (ahead(s) > k) continue;
            const double* from = paths(k - ahead(s)) - steps.down[s];
            double left_out = over(table, s, k);
            bool labels = steps.blanks && steps.down[s] == 2;
            if (labels) g.sync();
            int stride = labels ? 2 : 1, begin = labels ? 1 : low;
            for (int i = begin + stride * g.lane(); i <= high; i += stride * g.size()) {
                double path = from[i] + left_out;
                now[i] = path > now[i] ? path : now[i];
            }
            if (labels) g.sync();
        }
        const double* scores = table + base(k) + kEmpty - low;
        for (int i = low + g.lane(); i <= high; i += g.size()) now[i] += scores[i];
        g.sync();
    }

    // Ties go to the step that goes down most rows, of these to the one that goes right most.
    SPARSEWOOD_HD void walk_back(const double* table, int i, int16_t* code) const {
        for (int k = slots - 1; k >= 0;) {
            code[k] = static_cast<int16_t>(i - first(k) + kEmpty);
            if (k == 0) return;
            double best = kForbidden;
            int taken = 0;
            for (int s = steps.count - 1; s >= 0; --s) {
                if (ahead(s) > k || !steps.leads_to(s, i)) continue;
                double path = paths(k - ahead(s))[i - steps.down[s]] + over(table, s, k);
                if (path > best) best = path, taken = s;
            }
            for (int passed = k - ahead(taken) + 1; passed < k; ++passed) code[passed] = 0;
            k -= ahead(taken);
            i -= steps.down[taken];
        }
    }
};

}  // namespace sparsewood
