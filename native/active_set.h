// The structures that have weight, and the quadratic program on them.
//
// A structure is a code (family.h). The set keeps, beside the codes, the Cholesky factor of their
// overlaps and for each structure the nearest other one.
#pragma once

#include "cholesky.h"
#include "family.h"

namespace sparsewood {

enum class Entry : int32_t {
    kEntered,
    kPresent,   // it is active already
    kDependent  // its penalised parts are an affine combination of the active ones'
};

template <class Family>
struct ActiveSet {
    Cholesky factor;
    Family family;
    int slots;
    int stride;           // slots, rounded up to whole blocks; padding slots hold 0
    const double* theta;  // (cells) the table of scores, forbidden parts -inf
    int16_t* origin;      // (stride) the MAP structure; scores are relative to it
    int32_t* base;        // (slots) where the options of a slot begin in the table

    int capacity;
    int16_t* codes;    // (capacity, stride) structures, each in a place of its own
    int32_t* place;    // (capacity) of the code of an active structure; then the free places
    double* weights;   // (capacity) of the active structures
    double* target;    // (capacity) the QP solution
    int32_t* nearest;  // (capacity) by place: the place that shares most parts, -1: to be found
    int32_t* shared;   // (capacity) by place: how many
    double* scratch;   // (3, capacity)
    int32_t* overlap;  // (kWaiting, capacity) parts that a waiting structure shares with the others
    double* columns;   // (capacity, kWaiting) the rows of K of the waiting structures

    bool careful;        // drop one structure at a time: guaranteed to end
    int64_t iterations;  // QP solutions so far
    double objective;    // at the last one

    static constexpr int kWaiting = 32;         // structures that enter in one pass over the factor
    static constexpr int kTogether = 4;         // fewer go through the factor one by one
    static constexpr double kZero = 1e-15;      // weights at or below it are dropped
    static constexpr double kDirection = 1e-9;  // entries of a direction below it are rounding

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        slots = family.slots;
        stride = (slots + kCodeBlock - 1) / kCodeBlock * kCodeBlock;
        origin = arena.take<int16_t>(stride);
        base = arena.take<int32_t>(slots);
    }

    SPARSEWOOD_HD void lay_out_active(Arena& arena, int room) {
        capacity = room;
        factor.rows = arena.take<double>(Cholesky::packed(room + 1));
        factor.scores = arena.take<double>(room);
        factor.ones = arena.take<double>(room);
        codes = arena.take<int16_t>(int64_t(room) * stride);
        place = arena.take<int32_t>(room);
        weights = arena.take<double>(room);
        target = arena.take<double>(room);
        nearest = arena.take<int32_t>(room);
        shared = arena.take<int32_t>(room);
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

    // Starts with the structure in `origin` alone.
    template <class G>
    SPARSEWOOD_HD void begin(const G& g) {
        for (int i = slots + g.lane(); i < stride; i += g.size()) origin[i] = 0;
        for (int i = g.lane(); i < slots; i += g.size())
            base[i] = static_cast<int32_t>(family.base(i));
        for (int p = g.lane(); p < capacity; p += g.size()) place[p] = p;
        g.sync();
        append(g, origin);
        if (g.leader()) weights[0] = 1;
        g.sync();
    }

    // Takes over the active set of a solver with less room.
    SPARSEWOOD_HD void copy_active(const ActiveSet& from) {
        int k = size();
        for (int64_t i = 0; i < Cholesky::packed(k); ++i) factor.rows[i] = from.factor.rows[i];
        for (int64_t i = 0; i < int64_t(from.capacity) * stride; ++i) codes[i] = from.codes[i];
        for (int a = 0; a < from.capacity; ++a) {
            place[a] = from.place[a];
            nearest[a] = from.nearest[a];
            shared[a] = from.shared[a];
        }
        for (int a = from.capacity; a < capacity; ++a) place[a] = a;
        for (int a = 0; a < k; ++a) {
            factor.scores[a] = from.factor.scores[a];
            factor.ones[a] = from.factor.ones[a];
            weights[a] = from.weights[a];
        }
    }

    SPARSEWOOD_HD int size() const { return factor.size; }
    SPARSEWOOD_HD int16_t* at(int p) const { return codes + int64_t(p) * stride; }
    SPARSEWOOD_HD int16_t* code(int a) const { return at(place[a]); }
    // Structures wait to enter in the places after those of the active ones.
    SPARSEWOOD_HD int16_t* waiting(int w) const { return code(size() + w); }

    // With one structure more than allowed: whether another leaves for it. If not, it is
    // taken back, and the weights are still those of the best set reached.
    template <class G>
    SPARSEWOOD_HD bool makes_room(const G& g) {
        careful = true;
        factor.solve(g, target);
        for (int a = 0; a < size(); ++a)
            if (target[a] <= kZero) return true;
        --factor.size;
        return false;
    }

    // <scores, h - other> summed slot by slot, so that what is common cancels exactly.
    template <class G>
    SPARSEWOOD_HD double score_above(const G& g, const double* scores, const int16_t* h,
                                     const int16_t* other) const {
        double s = 0;
        for (int i = g.lane(); i < slots; i += g.size()) {
            const double* row = scores + base[i];
            s += row[h[i]] - row[other[i]];
        }
        return g.sum(s);
    }

    // The structure h joins the active set with weight 0, unless it is there or depends on it.
    template <class G>
    SPARSEWOOD_HD Entry append(const G& g, const int16_t* h) {
        int16_t* to = waiting(0);
        for (int i = g.lane(); i < stride; i += g.size()) to[i] = h[i];
        g.sync();
        compare(g, 1);
        return admit(g, 0, size(), 0, 0);
    }

    // The same for `count` waiting structures in their order, most of it by one pass over the
    // factor. Returns how many entered.
    template <class G>
    SPARSEWOOD_HD int append_waiting(const G& g, int count) {
        int before = size(), known = 0, width = (count + 7) / 8 * 8;
        compare(g, count);
        if (count >= kTogether) {
            known = before;
            for (int a = g.lane(); a < known; a += g.size())
                for (int w = 0; w < width; ++w)
                    columns[int64_t(a) * width + w] =
                        w < count ? overlap[int64_t(w) * capacity + a] + 1 : 0;
            g.sync();
            g.solve_columns(factor.rows, known, columns, width);
        }
        for (int w = 0; w < count; ++w) admit(g, w, before, known, width);
        return size() - before;
    }

    // After append found h to depend on the active set, sum_a d_a m_a = m_h with sum_a d_a = 1
    // over the penalised parts: h takes the place of a structure it can stand for. Weights move
    // along (-d, 1), which leaves u as it is, until the first of them reaches zero.
    template <class G>
    SPARSEWOOD_HD void pivot(const G& g, const int16_t* h) {
        double* d = target;
        const double* l = factor.row(size());
        for (int a = g.lane(); a < size(); a += g.size()) d[a] = l[a];
        g.sync();
        factor.backward(g, d);
        double length = 2;
        int first = -1;
        for (int a = 0; a < size(); ++a)
            if (d[a] > kDirection && weights[a] < length * d[a])
                length = weights[a] / d[a], first = a;
        g.sync();
        for (int a = g.lane(); a < size(); a += g.size()) weights[a] -= length * d[a];
        g.sync();
        leave(g, first);
        if (append(g, h) == Entry::kEntered && g.leader()) weights[size() - 1] = length;
        g.sync();
    }

    template <class G>
    SPARSEWOOD_HD void find_nearest(const G& g, int a) {
        int near = -1, most = -1;
        for (int b = 0; b < size(); ++b) {
            if (b == a) continue;
            int c = common_parts(g, code(a), code(b));
            if (c > most) most = c, near = place[b];
        }
        if (g.leader()) nearest[place[a]] = near, shared[place[a]] = most;
        g.sync();
    }

    template <class G>
    SPARSEWOOD_HD bool drop_negative(const G& g) {
        return drop_where(g, [&](int a) { return target[a] <= kZero; });
    }

    // Towards the target until the first weight reaches zero; drops that structure, or all
    // that were at zero from the start. False when the target is reached.
    template <class G>
    SPARSEWOOD_HD bool walk(const G& g) {
        double length = 2;
        int first = -1;
        for (int a = 0; a < size(); ++a)
            if (target[a] <= kZero) {
                double l = weights[a] > 0 ? weights[a] / (weights[a] - target[a]) : 0;
                if (l < length) length = l, first = a;
            }
        if (first < 0) return false;
        g.sync();
        for (int a = g.lane(); a < size(); a += g.size())
            weights[a] += length * (target[a] - weights[a]);
        g.sync();
        if (length > 0)
            leave(g, first);
        else
            drop_where(g, [&](int a) { return weights[a] <= 0 && target[a] <= kZero; });
        return true;
    }

  private:
    template <class G>
    SPARSEWOOD_HD void leave(const G& g, int a) {
        if (g.leader()) overlap[0] = a;
        g.sync();
        drop(g, overlap, 1);
    }

    // Drops the structures for which `leaves` holds, as many in a pass as can be, the last first.
    template <class G, class Leaves>
    SPARSEWOOD_HD bool drop_where(const G& g, Leaves leaves) {
        int before = size();
        for (int a = before - 1; a >= 0;) {
            int count = 0;
            for (; a >= 0 && count < Cholesky::kGone; --a)
                if (leaves(a)) {
                    ++count;
                    if (g.leader()) overlap[Cholesky::kGone - count] = a;
                }
            g.sync();
            if (count > 0) drop(g, overlap + Cholesky::kGone - count, count);
        }
        return size() < before;
    }

    // gone: (count) in rising order.
    template <class G>
    SPARSEWOOD_HD void drop(const G& g, const int32_t* gone, int count) {
        int before = size();
        factor.remove(g, gone, count, columns, capacity, scratch);
        for (int c = 0; c < count; ++c) {
            int p = place[gone[c]];
            for (int b = g.lane(); b < before; b += g.size())
                if (nearest[place[b]] == p) nearest[place[b]] = -1;
        }
        g.sync();
        if (g.leader()) close_ranks(gone, count, before);
        g.sync();
    }

    // Moves the structures that stay together. The places of those gone are free.
    SPARSEWOOD_HD void close_ranks(const int32_t* gone, int count, int before) {
        int32_t* freed = overlap + Cholesky::kGone;
        int to = gone[0];
        for (int a = gone[0], c = 0; a < before; ++a) {
            if (c < count && a == gone[c]) {
                freed[c++] = place[a];
                continue;
            }
            place[to] = place[a];
            weights[to] = weights[a];
            target[to++] = target[a];
        }
        for (int c = 0; c < count; ++c) place[to + c] = freed[c];
    }

    // The overlaps of the first `count` waiting structures with the active ones.
    template <class G>
    SPARSEWOOD_HD void compare(const G& g, int count) {
        for (int a = 0; a < size(); ++a)
            for (int w = 0; w < count; ++w) {
                int c = common_parts(g, code(a), waiting(w));
                if (g.leader()) overlap[int64_t(w) * capacity + a] = c;
            }
        g.sync();
    }

    // Takes in the structure that was number w of those waiting when `compared` were active. Of its
    // row of L the first `known` entries stand in column w of `columns`, `width` wide.
    template <class G>
    SPARSEWOOD_HD Entry admit(const G& g, int w, int compared, int known, int width) {
        int k = size(), p = place[compared + w];
        const int16_t* h = at(p);
        int32_t* common = overlap + int64_t(w) * capacity;
        for (int a = compared; a < k; ++a) {
            int c = common_parts(g, code(a), h);
            if (g.leader()) common[a] = c;
        }
        g.sync();
        int near = -1, most = -1, parts = count_parts(g, h);
        for (int a = 0; a < k; ++a) {
            int c = common[a];
            if (c == parts && (!Family::kEmpty || count_parts(g, code(a)) == c))
                return Entry::kPresent;
            if (c > most) most = c, near = place[a];
        }
        double* row = factor.row(k);
        for (int a = g.lane(); a < k; a += g.size())
            row[a] = a < known ? columns[int64_t(a) * width + w] : common[a] + 1;
        g.sync();
        if (!factor.append(g, known, parts + 1, score_above(g, theta, h, origin)))
            return Entry::kDependent;
        for (int a = g.lane(); a < k; a += g.size()) {
            int b = place[a];
            if (nearest[b] >= 0 && common[a] > shared[b]) shared[b] = common[a], nearest[b] = p;
        }
        g.sync();
        if (g.leader()) {
            place[compared + w] = place[k];
            place[k] = p;
            weights[k] = 0, nearest[p] = near, shared[p] = most;
        }
        g.sync();
        return Entry::kEntered;
    }

    // How many penalised parts two structures share.
    template <class G>
    SPARSEWOOD_HD int common_parts(const G& g, const int16_t* a, const int16_t* b) const {
        if (family.penalised == slots) {
            int same = g.template agree<Family::kEmpty>(a, b, stride);
            return Family::kEmpty ? same : same - (stride - slots);
        }
        int whole = family.penalised / kCodeBlock * kCodeBlock;
        int same = g.template agree<Family::kEmpty>(a, b, whole);
        for (int i = whole; i < family.penalised; ++i)
            same += a[i] == b[i] && !(Family::kEmpty && a[i] == 0);
        return same;
    }

    template <class G>
    SPARSEWOOD_HD int count_parts(const G& g, const int16_t* h) const {
        return Family::kEmpty ? common_parts(g, h, h) : family.penalised;
    }
};

}  // namespace sparsewood
