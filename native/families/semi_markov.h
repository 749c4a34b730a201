// Labelled segmentations of T positions into segments of length 1 to D, each with one of K labels,
// with scores of segments and of transitions between adjacent labels.
//
// The semi-Markov Viterbi algorithm (Sarawagi & Cohen 2004, "Semi-Markov conditional random
// fields", section 3.2) in O(T D K + T K^2). A code has a slot for the segment that starts at each
// position, then a slot for the transition into each position but the first. The rows of the table
// are the caller's (t, k), preceded by the empty cell: 0, D segments, K transitions.
#pragma once

#include "families/family.h"
#include "families/max_plus.h"

namespace sparsewood {

struct SemiMarkov {
    static constexpr bool kEmpty = true;
    static constexpr double kCross = 1e-5;
    int slots, penalised, rows, width;
    int positions, labels, longest;  // T, K, D
    double* enter;   // (T, K) the best prefix before a segment of label k at t
    double* end;     // (K, T + 1) the best segmentation of the first t whose last label is k
    double* column;  // (K) of `end`
    int32_t* reach;  // (T) the longest segment that may start at t

    SPARSEWOOD_HD int64_t base(int slot) const { return int64_t(position(slot)) * labels * width; }

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        enter = arena.take<double>(int64_t(positions) * labels);
        end = arena.take<double>(int64_t(labels) * (positions + 1));
        column = arena.take<double>(labels);
        reach = arena.take<int32_t>(positions);
    }
    SPARSEWOOD_HD void lay_out_cross(Arena&) {}

    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        int64_t stride = positions + 1;
        for (int64_t i = g.lane(); i < labels * stride; i += g.size()) end[i] = kForbidden;
        for (int i = g.lane(); i < slots; i += g.size()) code[i] = 0;
        if (g.leader()) find_reach(table);
        g.sync();
        for (int t = 0; t < positions; ++t) {
            if (t % kPoll == kPoll - 1) g.poll();
            for (int k = g.lane(); k < labels; k += g.size()) column[k] = end[k * stride + t];
            g.sync();
            for (int k = g.lane(); k < labels; k += g.size()) {
                const double* segments = segment_row(table, t, k);
                double before = t == 0 ? 0.0 : best_sum(column, segments + longest, labels);
                double* to = end + k * stride + t + 1;
                for (int d = 0; d < reach[t]; ++d) {
                    double s = before + segments[d];
                    to[d] = s > to[d] ? s : to[d];
                }
                enter[int64_t(t) * labels + k] = before;
            }
            g.sync();
        }
        int last = best_label(positions);
        if (end[last * stride + positions] == kForbidden) return false;
        if (g.leader()) walk_back(table, last, code);
        g.sync();
        return true;
    }

    // Exchanges the pieces between common points of both segmentations: boundaries at which the
    // labels before, or after, are equal. The transition across the boundary then belongs to the
    // piece after, or before, that point.
    SPARSEWOOD_HD double cross(const double* table, int16_t* a, const int16_t* b) const {
        double gain = 0, pending = 0;
        int from = 0;  // begin of the piece: 2 t before the transition into t, 2 t + 1 after it
        int before_a = 0, before_b = 0;
        for (int t = 0; t < positions; ++t) {
            bool boundary = a[t] != 0 && b[t] != 0;
            if (boundary && before_a == before_b)
                gain += exchange(from, 2 * t, pending, a, b), from = 2 * t, pending = 0;
            if (t > 0) pending += difference(table, positions + t - 1, a, b);
            int after_a = a[t] == 0 ? before_a : a[t] / width;
            int after_b = b[t] == 0 ? before_b : b[t] / width;
            if (boundary && after_a == after_b)
                gain += exchange(from, 2 * t + 1, pending, a, b), from = 2 * t + 1, pending = 0;
            pending += difference(table, t, a, b);
            before_a = after_a, before_b = after_b;
        }
        return gain + exchange(from, 2 * positions, pending, a, b);
    }

    // The segments determine the transitions. If a segment must start at a position, its empty cell
    // is forbidden.
    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        if (slot >= positions) return;
        double* cells = table + base(slot);
        for (int k = 0; k < labels; ++k)
            for (int o = k * width + 1; o <= k * width + longest; ++o)
                if (o != option) cells[o] = kForbidden;
        if (option != 0) cells[0] = kForbidden;
    }

    // size: T. shape: (T, K, D + K). options: D, whether transitions carry the penalty.
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape, const int64_t* options) {
        positions = static_cast<int>(size[0]);
        labels = static_cast<int>(shape[1]);
        longest = static_cast<int>(options[0]);
        slots = 2 * positions - 1;
        penalised = options[1] != 0 ? slots : positions;
        rows = positions * labels;
        width = 1 + longest + labels;
        padded = shape[0];
    }

    // No segment reaches past the end, and no transition leads into the first position.
    SPARSEWOOD_HD Row row(int r) const {
        int left = positions - r / labels;
        int stop = left == positions ? longest + labels : longest;
        return {int64_t(r) * (width - 1), 1, left < longest ? left : longest, stop};
    }

    SPARSEWOOD_HD int64_t part(int slot, int option) const {
        if (option == 0) return -1;
        int64_t r = int64_t(position(slot)) * labels + option / width;
        return r * (width - 1) + option % width - 1;
    }

    template <class G>
    SPARSEWOOD_HD void shift(const G&, double*) const {}

    SPARSEWOOD_HD int64_t event_size() const { return 2 * padded; }

    // (length, label) where a segment starts, (0, -1) elsewhere.
    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        for (int64_t t = g.lane(); t < padded; t += g.size()) {
            int option = t < positions ? code[t] : 0;
            out[2 * t] = option == 0 ? 0 : option % width;
            out[2 * t + 1] = option == 0 ? -1 : option / width;
        }
    }

  private:
    static constexpr int kPoll = 256;  // positions between two polls
    int64_t padded;  // positions in the caller's array

    SPARSEWOOD_HD int position(int slot) const {
        return slot < positions ? slot : slot - positions + 1;
    }

    // The segments of label k that start at t, by length, followed by the transitions.
    SPARSEWOOD_HD const double* segment_row(const double* table, int t, int k) const {
        return table + (int64_t(t) * labels + k) * width + 1;
    }

    // No segment extends past the end or over a position at which a segment must start.
    SPARSEWOOD_HD void find_reach(const double* table) const {
        for (int t = positions - 1, stop = positions; t >= 0; --t) {
            reach[t] = stop - t < longest ? stop - t : longest;
            if (table[base(t)] == kForbidden) stop = t;
        }
    }

    SPARSEWOOD_HD int best_label(int t) const {
        int best = 0;
        for (int k = 1; k < labels; ++k)
            if (end[k * int64_t(positions + 1) + t] > end[best * int64_t(positions + 1) + t])
                best = k;
        return best;
    }

    // Recovers the segments, from the last to the first; ties go to the shortest.
    SPARSEWOOD_HD void walk_back(const double* table, int label, int16_t* code) const {
        for (int stop = positions; stop > 0;) {
            int start = stop - 1;
            double best = kForbidden;
            for (int t = stop - 1; t >= 0 && stop - t <= longest; --t) {
                double s =
                    enter[int64_t(t) * labels + label] + segment_row(table, t, label)[stop - t - 1];
                if (s > best && stop - t <= reach[t]) best = s, start = t;
            }
            code[start] = static_cast<int16_t>(label * width + stop - start);
            if (start > 0) {
                int previous = best_previous(table, start, label);
                code[positions + start - 1] =
                    static_cast<int16_t>(label * width + 1 + longest + previous);
                label = previous;
            }
            stop = start;
        }
    }

    SPARSEWOOD_HD int best_previous(const double* table, int t, int label) const {
        const double* transitions = segment_row(table, t, label) + longest;
        int best = 0;
        double highest = kForbidden;
        for (int j = 0; j < labels; ++j) {
            double s = end[j * int64_t(positions + 1) + t] + transitions[j];
            if (s > highest) highest = s, best = j;
        }
        return best;
    }

    // The score of b minus the score of a in one slot.
    SPARSEWOOD_HD double difference(const double* table, int slot, const int16_t* a,
                                    const int16_t* b) const {
        const double* cells = table + base(slot);
        return cells[b[slot]] - cells[a[slot]];
    }

    // Copies the piece of b to a if the gain is positive.
    SPARSEWOOD_HD double exchange(int from, int to, double gain, int16_t* a,
                                  const int16_t* b) const {
        if (!(gain > 0)) return 0;
        for (int p = from < 1 ? 1 : from; p < to; ++p) {
            int slot = p % 2 == 0 ? positions + p / 2 - 1 : p / 2;
            a[slot] = b[slot];
        }
        return gain;
    }
};

// Segments come before transitions in a row.
SPARSEWOOD_HD inline bool is_penalised(const SemiMarkov& segments, int64_t cell) {
    return segments.penalised == segments.slots || cell % segments.width <= segments.longest;
}

}  // namespace sparsewood
