// Segmentations (Sarawagi & Cohen 2004) and, with segments of one position, chains.
#pragma once

#include "sums/chart.h"

namespace sparsewood {

// States (T, K, 1 + K): see structures/recursions/chain.py.
struct ChainStates {
    int64_t parts, cells, goal;
    double log_count;
    int used, labels;
    int steps, states;

    // size: (t); shape: (T, K, 1 + K).
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape) {
        steps = static_cast<int>(size[0]);
        states = static_cast<int>(shape[1]);
        labels = 1;
        used = 2 * steps;
        parts = int64_t(steps) * states * (1 + states);
        cells = one(states) + 1;
        goal = one(states);
        log_count = steps * log(double(states));
    }

    template <class G, class F>
    SPARSEWOOD_HD void each_part(const G& g, F f) const {
        for (int64_t c = g.lane(); c < parts; c += g.size()) f(c, c);
    }

    template <bool Back, class F>
    SPARSEWOOD_HD void each_node(F f) const {
        Node whole{end(steps - 1, 0), one(0), states, 1, {{goal, 0, 1, -1}, {}}};
        if (Back) f(whole);
        for (int step = 0; step < steps; ++step) {
            int t = Back ? steps - 1 - step : step;
            for (int k = 0; k < states; ++k) {
                int64_t own = (int64_t(t) * states + k) * (1 + states);
                f(Node{end(t - 1, 0), own + 1, t > 0 ? states : 0, 1, {{end(t, k), 0, 1, own}, {}}});
            }
        }
        for (int k = 0; !Back && k < states; ++k) f(Node{0, 0, 0, 1, {{one(k), 0, 1, -1}, {}}});
        if (!Back) f(whole);
    }

  private:
    // The sequences that end at t in state k.
    SPARSEWOOD_HD int64_t end(int t, int k) const { return parts + int64_t(t) * states + k; }
    SPARSEWOOD_HD int64_t one(int k) const { return end(steps, k); }
};

// Segments (T, K, D + K): see structures/recursions/semi_markov.py.
struct SegmentStates {
    int64_t parts, cells, goal;
    double log_count;
    int used, labels;
    int steps, states, longest;

    // size: (t); shape: (T, K, D + K).
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape) {
        steps = static_cast<int>(size[0]);
        states = static_cast<int>(shape[1]);
        longest = static_cast<int>(shape[2]) - states;
        labels = 1;
        used = 2 * steps;
        parts = moves() + int64_t(steps) * states * states;
        cells = one(states) + 1;
        goal = one(states);
        log_count = steps * log(2.0 * states);
    }

    template <class G, class F>
    SPARSEWOOD_HD void each_part(const G& g, F f) const {
        int64_t width = longest + states, count = int64_t(steps) * states * width;
        for (int64_t c = g.lane(); c < count; c += g.size()) {
            int64_t row = c / width, d = c % width, t = row / states, k = row % states;
            if (d >= longest)
                f(moves() + row * states + d - longest, c);
            else if (t + d < steps)
                f(by_end(static_cast<int>(t + d), static_cast<int>(k)) + d, c);
        }
    }

    template <bool Back, class F>
    SPARSEWOOD_HD void each_node(F f) const {
        Node whole{end(steps - 1, 0), one(0), states, 1, {{goal, 0, 1, -1}, {}}};
        if (Back) f(whole);
        for (int step = 0; step < steps; ++step) {
            int t = Back ? steps - 1 - step : step;
            for (int k = 0; k < states; ++k) {
                if (!Back) start(t, k, f);
                int count = t + 1 < longest ? t + 1 : longest;
                f(Node{start_at(t, k), by_end(t, k), count, 1, {{end(t, k), 0, 1, -1}, {}}});
                if (Back) start(t, k, f);
            }
        }
        for (int k = 0; !Back && k < states; ++k) f(Node{0, 0, 0, 1, {{one(k), 0, 1, -1}, {}}});
        if (!Back) f(whole);
    }

  private:
    SPARSEWOOD_HD int64_t table() const { return int64_t(steps) * states * longest; }
    // Parts: segments by the last position, label and length; moves by position and both labels.
    SPARSEWOOD_HD int64_t by_end(int t, int k) const {
        return (int64_t(t) * states + k) * longest;
    }
    SPARSEWOOD_HD int64_t moves() const { return table(); }
    // Prefixes before a segment that ends with t, by its label and length.
    SPARSEWOOD_HD int64_t start_at(int t, int k) const { return parts + by_end(t, k); }
    // Prefixes that end with t and label k.
    SPARSEWOOD_HD int64_t end(int t, int k) const {
        return parts + table() + int64_t(t) * states + k;
    }
    SPARSEWOOD_HD int64_t one(int k) const { return end(steps, k); }

    // Prefixes before label k starts at t, for segments of all lengths.
    template <class F>
    SPARSEWOOD_HD void start(int t, int k, F f) const {
        int64_t moves_in = moves() + (int64_t(t) * states + k) * states;
        int copies = steps - t < longest ? steps - t : longest;
        f(Node{end(t - 1, 0), moves_in, t > 0 ? states : 0, 1,
               {{start_at(t, k), int64_t(states) * longest + 1, copies, -1}, {}}});
    }
};

}  // namespace sparsewood
