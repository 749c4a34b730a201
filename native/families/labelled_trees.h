// Dependency trees with a label on every arc.
//
// A tree is a code of n slots: slot i holds head * L + label of word i + 1. Labels do not constrain
// each other, so the best tree is the best tree over arcs with their best labels.
#pragma once

#include "families/best_label.h"
#include "families/trees.h"

namespace sparsewood {

template <bool Projective, bool SingleRoot>
struct LabelledTrees {
    static constexpr bool kEmpty = false;
    static constexpr double kCross = kAlways;
    TreeOracle<Projective, SingleRoot> trees;
    int labels;
    int slots, penalised, rows, width;
    int padded;  // words of the caller's array

    double* arcs;          // (n, n + 1) the score of each arc with its best label
    int16_t* heads;        // (n) of a tree; for cross() too
    int16_t* other_heads;  // for cross(): (n)

    SPARSEWOOD_HD int64_t base(int slot) const { return int64_t(slot) * width; }

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        trees.lay_out(arena, slots);
        arcs = arena.take<double>(int64_t(slots) * (slots + 1));
        heads = arena.take<int16_t>(slots);
    }

    SPARSEWOOD_HD void lay_out_cross(Arena& arena) {
        heads = arena.take<int16_t>(slots);
        other_heads = arena.take<int16_t>(slots);
    }

    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        read_arcs(g, table);
        if (!trees(g, arcs, heads)) return false;
        write_code(g, table, code);
        return true;
    }

#ifndef __CUDACC_RTC__
    // The second best tree has other arcs, or the second label of one arc. (Trees that are not
    // projective.)
    bool best_two(const double* table, int16_t* code, Second& found) {
        read_arcs(Thread{}, table);
        if (!trees.best_two(arcs, heads, found)) return false;
        write_code(Thread{}, table, code);
        for (int i = 0; i < slots; ++i) {
            const double* row = table + base(i);
            for (int o = heads[i] * labels; o < (heads[i] + 1) * labels; ++o)
                if (o != code[i]) found.see(row[code[i]] - row[o], i);
        }
        return true;
    }
#endif

    // Takes the better label where heads are equal, and crosses the other arcs as in trees.h.
    SPARSEWOOD_HD double cross(const double* table, int16_t* a, const int16_t* b) const {
        double rise = 0;
        auto more = [&](int word, int, int) {
            const double* row = table + base(word - 1);
            return row[b[word - 1]] - row[a[word - 1]];
        };
        for (int i = 0; i < slots; ++i) {
            heads[i] = static_cast<int16_t>(a[i] / labels);
            other_heads[i] = static_cast<int16_t>(b[i] / labels);
            if (heads[i] != other_heads[i] || !(more(i + 1, 0, 0) > 0)) continue;
            rise += more(i + 1, 0, 0);
            a[i] = b[i];
        }
        for (int i = slots; i % kCodeBlock != 0; ++i) heads[i] = other_heads[i] = 0;
        rise += trees.mix(heads, other_heads, more);
        for (int i = 0; i < slots; ++i)
            if (heads[i] != a[i] / labels) a[i] = b[i];
        return rise;
    }

    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        fix_row(table + base(slot), width, option);
    }

    // size: (n); shape: (N, N + 1, L).
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape, const int64_t*) {
        slots = penalised = rows = static_cast<int>(size[0]);
        padded = static_cast<int>(shape[0]);
        labels = static_cast<int>(shape[2]);
        width = (slots + 1) * labels;
    }

    // The arc from a word to itself is never read.
    SPARSEWOOD_HD Row row(int r) const { return {part(r, 0), 1, (r + 1) * labels, (r + 2) * labels}; }

    SPARSEWOOD_HD int64_t part(int slot, int option) const {
        return int64_t(slot) * (padded + 1) * labels + option;
    }

    template <class G>
    SPARSEWOOD_HD void shift(const G& g, double* table) const {
        for (int i = g.lane(); i < slots; i += g.size()) shift_row(table + base(i), width);
    }

    SPARSEWOOD_HD int64_t event_size() const { return int64_t(padded) * 2; }

    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        for (int i = g.lane(); i < padded; i += g.size()) {
            out[2 * i] = i < slots ? code[i] / labels : -1;
            out[2 * i + 1] = i < slots ? code[i] % labels : -1;
        }
    }

  private:
    // The score of every arc with its best label.
    template <class G>
    SPARSEWOOD_HD void read_arcs(const G& g, const double* table) {
        int64_t count = int64_t(slots) * (slots + 1);
        for (int64_t c = g.lane(); c < count; c += g.size())
            arcs[c] = best_label_score(table + c * labels, labels);
        g.sync();
    }

    // The best labels of the arcs of `heads`.
    template <class G>
    SPARSEWOOD_HD void write_code(const G& g, const double* table, int16_t* code) const {
        for (int i = g.lane(); i < slots; i += g.size()) {
            int first = heads[i] * labels;
            code[i] = static_cast<int16_t>(first + best_label(table + base(i) + first, labels));
        }
        g.sync();
    }
};

}  // namespace sparsewood
