// MAP oracle for linear chains (Viterbi 1967), O(T K^2), and the family it belongs to.
//
// The table holds the scores of the states, (T, K), and then those of the transitions, (T - 1, K,
// K) with the state moved from first. Slot t is the state at t, slot T + t - 1 the transition into
// t.
#pragma once

#include "families/family.h"
#include "families/max_plus.h"

namespace sparsewood {

struct Chain {
    static constexpr bool kEmpty = false;
    static constexpr double kCross = 1e-5;
    int slots, penalised, rows, width;
    int steps, states;
    int64_t padded;  // steps of the caller's array
    double* best;    // (T, K) the best chains that end in each state

    SPARSEWOOD_HD int64_t base(int slot) const {
        return slot < steps ? int64_t(slot) * states
                            : (int64_t(slot - steps) * states + steps) * states;
    }

    SPARSEWOOD_HD void lay_out(Arena& arena) { best = arena.take<double>(int64_t(steps) * states); }
    SPARSEWOOD_HD void lay_out_cross(Arena&) {}

    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        for (int k = g.lane(); k < states; k += g.size()) best[k] = table[k];
        g.sync();
        for (int t = 1; t < steps; ++t) {
            if (t % kPoll == 0) g.poll();
            double* now = best + int64_t(t) * states;
            g.max_plus(now - states, table + base(steps + t - 1), table + base(t), states, states,
                       now);
        }
        int last = g.argmax(best + int64_t(steps - 1) * states, states);
        if (last < 0) return false;
        if (g.leader()) walk_back(table, last, code);
        g.sync();
        return true;
    }

    // The segments between two positions at which both chains are in the same state can be
    // exchanged.
    SPARSEWOOD_HD double cross(const double* table, int16_t* a, const int16_t* b) const {
        double gain = 0;
        for (int begin = 0; begin < steps; ++begin) {
            if (a[begin] == b[begin]) continue;
            int end = begin + 1;
            while (end < steps && a[end] != b[end]) ++end;
            int first = begin > 0 ? begin : 1, last = end < steps ? end : steps - 1;
            double better = above(table, begin, end, a, b) +
                            above(table, steps + first - 1, steps + last, a, b);
            if (better > 0) {
                gain += better;
                for (int t = begin; t < end; ++t) a[t] = b[t];
                for (int t = first; t <= last; ++t) a[steps + t - 1] = b[steps + t - 1];
            }
            begin = end;
        }
        return gain;
    }

    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        fix_row(table + base(slot), states, option);
    }

    // options: whether transitions are penalised too
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape, const int64_t* options) {
        padded = shape[0];
        steps = static_cast<int>(size[0]);
        states = width = static_cast<int>(shape[1]);
        rows = steps + (steps - 1) * states;
        slots = 2 * steps - 1;
        penalised = options[0] ? slots : steps;
    }
    // The caller's array is (T, K, 1 + K): a state, then the transitions into it.
    SPARSEWOOD_HD Row row(int r) const {
        int step = r < steps ? r : (r - steps) / states + 1;
        int column = r < steps ? 0 : 1 + (r - steps) % states;
        return {int64_t(step) * states * (states + 1) + column, states + 1, 0, 0};
    }
    SPARSEWOOD_HD int64_t part(int slot, int option) const {
        bool state = slot < steps;
        int step = state ? slot : slot - steps + 1;
        int to = state ? option : option % states, column = state ? 0 : 1 + option / states;
        return (int64_t(step) * states + to) * (states + 1) + column;
    }
    SPARSEWOOD_HD int64_t event_size() const { return padded; }
    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        for (int64_t t = g.lane(); t < padded; t += g.size()) out[t] = t < steps ? code[t] : -1;
    }
    template <class G>
    SPARSEWOOD_HD void shift(const G& g, double* table) const {
        for (int i = g.lane(); i < slots; i += g.size())
            shift_row(table + base(i), i < steps ? states : states * states);
    }

  private:
    static constexpr int kPoll = 256;  // steps between two polls

    // The score of b minus the score of a in the slots from begin to end.
    SPARSEWOOD_HD double above(const double* table, int begin, int end, const int16_t* a,
                               const int16_t* b) const {
        double s = 0;
        for (int i = begin; i < end; ++i) {
            const double* row = table + base(i);
            s += row[b[i]] - row[a[i]];
        }
        return s;
    }

    SPARSEWOOD_HD void walk_back(const double* table, int last, int16_t* code) const {
        for (int t = steps - 1, k = last; t >= 0; --t) {
            code[t] = static_cast<int16_t>(k);
            if (t == 0) break;
            const double *before = best + int64_t(t - 1) * states, *into = table + base(steps + t - 1) + k;
            double most = kForbidden;
            int from = 0;
            for (int j = 0; j < states; ++j, into += states)
                if (before[j] + *into > most) most = before[j] + *into, from = j;
            code[steps + t - 1] = static_cast<int16_t>(from * states + k);
            k = from;
        }
    }
};

// Without a penalty on transitions, only the first cells change between calls.
SPARSEWOOD_HD inline int64_t penalised_cells(const Chain& chain) {
    return chain.penalised < chain.slots ? int64_t(chain.steps) * chain.states : cells(chain);
}

SPARSEWOOD_HD inline bool is_penalised(const Chain& chain, int64_t cell) {
    return cell < penalised_cells(chain);
}

}  // namespace sparsewood
