// The active structures, and the quadratic program over them.
//
// The set stores their codes, their weights, and the Cholesky factor of their overlaps.
#pragma once

#include "solver/cholesky.h"
#include "solver/codes.h"

namespace sparsewood {

enum class Entry : int32_t {
    kEntered,
    kPresent,   // already active
    kDependent  // its penalised parts are an affine combination of those of active structures
};

template <class Family>
struct ActiveSet {
    Codes<Family> codes;
    Cholesky factor;
    const double* theta;  // (cells) the table of scores, forbidden parts -inf
    int16_t* origin;      // (stride) the first structure; scores are relative to it
    double* weights;      // (capacity) of the active structures
    double* target;       // (capacity) the QP solution
    double* scratch;      // (3, capacity)
    int32_t* overlap;  // (kWaiting, capacity) parts shared by waiting and other structures
    double* columns;   // (capacity, kWaiting) the rows of K of the waiting structures

    bool careful;        // drop one structure at a time, which guarantees termination
    int64_t iterations;  // QP solutions so far
    double objective;    // at the last one

    static constexpr int kWaiting = 32;         // structures that enter in one pass
    static constexpr int kFewSlots = 64;        // slots compared in the time of looking up one
    static constexpr double kZero = 1e-15;      // weights at or below it are dropped
    static constexpr double kDirection = 1e-9;  // entries of a direction below it are rounding

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        codes.lay_out(arena);
        origin = arena.take<int16_t>(codes.stride);
    }

    SPARSEWOOD_HD void lay_out_active(Arena& arena, int room) {
        codes.lay_out_active(arena, room);
        factor.rows = arena.take<double>(Cholesky::packed(room + 1));
        factor.scores = arena.take<double>(room);
        factor.ones = arena.take<double>(room);
        weights = arena.take<double>(room);
        target = arena.take<double>(room);
        scratch = arena.take<double>(int64_t(3) * room);
        overlap = arena.take<int32_t>(int64_t(kWaiting) * room);
        columns = arena.take<double>(int64_t(kWaiting) * room);
    }

    SPARSEWOOD_HD void reset(const double* scores, bool one_at_a_time) {
        theta = scores;
        careful = one_at_a_time;
        factor.size = 0;
        iterations = 0;
        objective = kForbidden;
    }

    // Starts with only the structure in `origin`.
    template <class G>
    SPARSEWOOD_HD void begin(const G& g) {
        for (int i = codes.slots + g.lane(); i < codes.stride; i += g.size()) origin[i] = 0;
        codes.begin(g);
        append(g, origin);
        if (g.leader()) weights[0] = 1;
        g.sync();
    }

    // Copies a set with less capacity.
    template <class G>
    SPARSEWOOD_HD void copy(const G& g, const ActiveSet& from) {
        int k = size();
        codes.copy(g, from.codes);
        for (int64_t i = g.lane(); i < Cholesky::packed(k); i += g.size())
            factor.rows[i] = from.factor.rows[i];
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); a < k; a += g.size()) {
            factor.scores[a] = from.factor.scores[a];
            factor.ones[a] = from.factor.ones[a];
            weights[a] = from.weights[a];
        }
        g.sync();
    }

    SPARSEWOOD_HD int size() const { return factor.size; }
    // Waiting structures are stored after the active ones.
    SPARSEWOOD_HD int16_t* waiting(int w) const { return codes.code(size() + w); }

    // With one structure more than allowed: whether another one leaves. If not, the new structure
    // is removed, and the weights remain those of the best set reached.
    template <class G>
    SPARSEWOOD_HD bool makes_room(const G& g) {
        careful = true;
        factor.solve(g, target);
        if (g.last(size(), [&](int a) { return target[a] <= kZero; }) >= 0) return true;
        --factor.size;
        return false;
    }

    // Adds the structure h with weight 0, unless it is present or dependent.
    template <class G>
    SPARSEWOOD_HD SPARSEWOOD_ONCE Entry append(const G& g, const int16_t* h) {
        int16_t* to = waiting(0);
        SPARSEWOOD_ROLLED
        for (int i = g.lane(); i < codes.stride; i += g.size()) to[i] = h[i];
        g.sync();
        list_waiting(g, 1);
        compare(g, 1);
        return admit(g, 0, size(), 0, 0);
    }

    // The same for one of several structures in a row, the `first` or a later one. Rows of the
    // factor begin equally as long as overlaps do, and few overlaps change if structures differ in
    // few slots.
    template <class G>
    SPARSEWOOD_HD Entry append_next(const G& g, const int16_t* h, bool first) {
        int k = size(), known = 0;
        int16_t* to = waiting(0);
        for (int i = g.lane(); i < codes.stride; i += g.size()) to[i] = h[i];
        g.sync();
        int32_t *common = overlap, *before = overlap + codes.capacity;
        const double* last = factor.row(k - 1);
        list_waiting(g, 1);
        if (first || !compare_next(g, before)) compare(g, 1);
        if (!first)
            while (known + 1 < k && common[known] == before[known]) ++known;
        for (int a = g.lane(); a < known; a += g.size()) columns[a] = last[a];
        g.sync();
        Entry entry = admit(g, 0, k, known, 1);
        for (int a = g.lane(); entry == Entry::kEntered && a < k; a += g.size())
            before[a] = common[a];
        g.sync();
        return entry;
    }

    // The same for `count` waiting structures in order, mostly by one pass over the factor. Returns
    // how many entered.
    template <class G>
    SPARSEWOOD_HD SPARSEWOOD_ONCE int append_waiting(const G& g, int count) {
        int before = size(), known = 0;
        int width = (count + G::kColumns - 1) / G::kColumns * G::kColumns;
        list_waiting(g, count);
        compare(g, count);
        if (count >= G::kTogether) {
            known = before;
            SPARSEWOOD_ROLLED
            for (int a = g.lane(); a < known; a += g.size())
                for (int w = 0; w < width; ++w)
                    columns[int64_t(a) * width + w] =
                        w < count ? overlap[int64_t(w) * codes.capacity + a] + 1 : 0;
            g.sync();
            solve_columns(g, factor.rows, known, columns, width);
        }
        for (int w = 0; w < count; ++w) admit(g, w, before, known, width);
        return size() - before;
    }

    // Call after append found h to be dependent: sum_a d_a m_a = m_h with sum_a d_a = 1 over the
    // penalised parts. h replaces a structure: weights move along (-d, 1), which leaves u
    // unchanged, until the first one reaches zero.
    template <class G>
    SPARSEWOOD_HD void pivot(const G& g, const int16_t* h) {
        double* d = target;
        const double* l = factor.row(size());
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); a < size(); a += g.size()) d[a] = l[a];
        g.sync();
        backward(g, factor.rows, size(), d);
        double length = 2;
        int first = -1;
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); a < size(); a += g.size())
            if (d[a] > kDirection && weights[a] < length * d[a])
                length = weights[a] / d[a], first = a;
        g.smallest(length, first);
        g.sync();
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); a < size(); a += g.size()) weights[a] -= length * d[a];
        g.sync();
        leave(g, first);
        if (append(g, h) == Entry::kEntered && g.leader()) weights[size() - 1] = length;
        g.sync();
    }

    template <class G>
    SPARSEWOOD_HD bool drop_negative(const G& g) {
        return drop_where(g, [&](int a) { return target[a] <= kZero; });
    }

    // Moves towards the target until the first weight reaches zero; drops that structure, or all
    // structures whose weight was zero initially. False if the target is reached.
    template <class G>
    SPARSEWOOD_HD bool walk(const G& g) {
        double length = 2;
        int first = -1;
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); a < size(); a += g.size())
            if (target[a] <= kZero) {
                double l = weights[a] > 0 ? weights[a] / (weights[a] - target[a]) : 0;
                if (l < length) length = l, first = a;
            }
        g.smallest(length, first);
        if (first < 0) return false;
        g.sync();
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); a < size(); a += g.size())
            weights[a] += length * (target[a] - weights[a]);
        g.sync();
        if (length > 0)
            leave(g, first);
        else
            drop_where(g, [&](int a) { return weights[a] <= 0 && target[a] <= kZero; });
        return true;
    }

    template <class G>
    SPARSEWOOD_HD void leave(const G& g, int a) {
        if (g.leader()) overlap[0] = a;
        g.sync();
        drop(g, overlap, 1);
    }

  private:

    // Drops the structures for which `leaves` holds, as many per pass as possible, the last first.
    template <class G, class Leaves>
    SPARSEWOOD_HD bool drop_where(const G& g, Leaves leaves) {
        int before = size();
        for (int a = g.last(before, leaves); a >= 0;) {
            int count = 0;
            for (; a >= 0 && count < Cholesky::kGone; a = g.last(a, leaves)) {
                ++count;
                if (g.leader()) overlap[Cholesky::kGone - count] = a;
            }
            g.sync();
            drop(g, overlap + Cholesky::kGone - count, count);
        }
        return size() < before;
    }

    // gone: (count) in increasing order.
    template <class G>
    SPARSEWOOD_HD SPARSEWOOD_ONCE void drop(const G& g, const int32_t* gone, int count) {
        int before = size();
        factor.remove(g, gone, count, columns, codes.capacity, scratch);
        for (int c = 0; c < count; ++c) {
            int p = codes.place[gone[c]];
            SPARSEWOOD_ROLLED
            for (int b = g.lane(); b < before; b += g.size())
                if (codes.nearest[codes.place[b]] == p) codes.nearest[codes.place[b]] = -1;
        }
        close_ranks(g, gone, count, before);
    }

    // Compacts the remaining structures, and frees the places of those that left.
    template <class G>
    SPARSEWOOD_HD void close_ranks(const G& g, const int32_t* gone, int count, int before) {
        int32_t* freed = overlap + Cholesky::kGone;
        SPARSEWOOD_ROLLED
        for (int c = g.lane(); c < count; c += g.size()) freed[c] = codes.place[gone[c]];
        g.sync();
        for (int start = gone[0], c = 0; start < before; start += g.size()) {
            int a = start + g.lane(), at = a < before ? a : start;
            int32_t place = codes.place[at];
            double weight = weights[at], aim = target[at];
            g.sync();
            while (c < count && gone[c] < at) ++c;
            if (a < before && !(c < count && gone[c] == a)) {
                codes.place[a - c] = place;
                weights[a - c] = weight;
                target[a - c] = aim;
            }
            g.sync();
        }
        SPARSEWOOD_ROLLED
        for (int c = g.lane(); c < count; c += g.size()) codes.place[before - count + c] = freed[c];
        g.sync();
    }

    // Call after the codes of the first `count` waiting structures have changed.
    template <class G>
    SPARSEWOOD_HD void list_waiting(const G&, int count) {
        if constexpr (G::kLists)
            for (int w = 0; codes.filled.exist() && w < count; ++w)
                codes.filled.list(codes.place[size() + w], waiting(w));
    }

    // The overlaps of the first `count` waiting structures with the active ones.
    template <class G>
    SPARSEWOOD_HD SPARSEWOOD_ONCE void compare(const G& g, int count) {
        if constexpr (G::kLists) {
            if (codes.filled.exist()) {
                const int32_t* first = codes.place + size();
                codes.filled.compare(first, count, codes.place, size(), [&](int w, int a, int c) {
                    overlap[int64_t(w) * codes.capacity + a] = c;
                });
                return;
            }
        }
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); a < size(); a += g.size())
            SPARSEWOOD_ROLLED
            for (int w = 0; w < count; ++w)
                overlap[int64_t(w) * codes.capacity + a] =
                    codes.common_parts(typename G::Lane{}, codes.code(a), waiting(w));
        g.sync();
    }

    // compare() for one waiting structure, given the overlaps `before` of the last active one.
    // False if both differ in so many slots that this would not be faster.
    template <class G>
    SPARSEWOOD_HD bool compare_next(const G& g, const int32_t* before) {
        int last = size() - 1, different = 0;
        const int16_t *h = waiting(0), *previous = codes.code(last);
        auto each = [&](auto visit) {
            where_differ(h, previous, codes.slots, [&](int i, int mine, int theirs) {
                if (i < codes.family.penalised) visit(i, mine, theirs);
            });
        };
        each([&](int, int, int) { ++different; });
        if (different * kFewSlots > codes.stride) return false;
        for (int a = g.lane(); a < last; a += g.size()) overlap[a] = before[a];
        g.sync();
        each([&](int i, int mine, int theirs) {
            for (int a = g.lane(); a < last; a += g.size()) {
                int option = codes.code(a)[i];
                bool counts = !Family::kEmpty || option != 0;
                overlap[a] += counts * ((option == mine) - (option == theirs));
            }
        });
        if (g.leader()) overlap[last] = codes.common_parts(typename G::Lane{}, previous, h);
        g.sync();
        return true;
    }

    // Adds waiting structure number w, whose overlaps were computed with `compared` active
    // structures. The first `known` entries of its row of L are in column w of `columns`, which is
    // `width` wide.
    template <class G>
    SPARSEWOOD_HD SPARSEWOOD_ONCE Entry admit(const G& g, int w, int compared, int known,
                                              int width) {
        int k = size(), p = codes.place[compared + w];
        const int16_t* h = codes.at(p);
        int32_t* common = overlap + int64_t(w) * codes.capacity;
        typename G::Lane lane;
        int near = -1, most = -1, parts = codes.count_parts(lane, h);
        bool present = false;
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); a < k; a += g.size()) {
            if (a >= compared) common[a] = codes.common_at(lane, codes.place[a], p);
            int c = common[a];
            if (c == parts && (!Family::kEmpty || codes.count_parts(lane, codes.code(a)) == c))
                present = true;
            if (c > most) most = c, near = a;
        }
        if (g.any(present)) return Entry::kPresent;
        g.largest(most, near);
        if (near >= 0) near = codes.place[near];
        double* row = factor.row(k);
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); a < k; a += g.size())
            row[a] = a < known ? columns[int64_t(a) * width + w] : common[a] + 1;
        g.sync();
        if (!factor.append(g, known, parts + 1, codes.share_above(g, theta, h, origin)))
            return Entry::kDependent;
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); Family::kCross > kNever && a < k; a += g.size()) {
            int b = codes.place[a];
            if (codes.nearest[b] >= 0 && common[a] > codes.shared[b])
                codes.shared[b] = common[a], codes.nearest[b] = p;
        }
        g.sync();
        if (g.leader()) {
            codes.place[compared + w] = codes.place[k];
            codes.place[k] = p;
            weights[k] = 0, codes.nearest[p] = near, codes.shared[p] = most;
        }
        g.sync();
        return Entry::kEntered;
    }
};

}  // namespace sparsewood
