// The interface of a family of structures for the solver.
//
// A structure is a code: one option for each of `slots` slots. Scores are in a table of `rows` rows
// of `width` cells; option o of slot i scores table[base(i) + o], which is kForbidden for forbidden
// options. Slots may share a row, as do a state and the transition into it. The first `penalised`
// slots carry the quadratic penalty; they determine the structure.
//
// A family is a struct with the four numbers above and two constants:
//
// - kEmpty: option 0 of every slot is not a part; its cell, the first of each row, is 0.
// - kCross: the gap below which structures are crossed; kAlways; or kNever if there is no cross().
//
// Members that run on any device:
//
// - base(slot): the first cell of the options of a slot.
// - lay_out(arena): allocates scratch memory.
// - lay_out_cross(arena): allocates the memory of cross(), per lane.
// - operator()(g, table, code): the MAP oracle. False if every structure uses a forbidden cell. The
//   cell of an empty option may also be forbidden: the slot then must not be empty. Ties must be
//   broken the same way each time.
// - cross(table, a, b): copies exchangeable pieces of b into a if they score higher; returns the
//   gain, and leaves a unchanged if it is 0. Run by one lane; codes are whole blocks, padded by 0.
// - fix(table, slot, option): forbids cells so that exactly those structures remain that choose
//   `option` in this penalised slot, with unchanged scores. For a slot with its own row this is
//   fix_row(), which forbids all other options of the slot, including the empty one.
//
// A family with a closed form of SparseMAP also has, for Thread only:
//
// - propose(g, table): the number of structures that span the solution for `table`; 0: unknown.
// - proposed(g, c, code): structure number c, requested in increasing order. They should be
//   affinely independent; the solver starts from them, computes their weights and certifies the
//   solution.
//
// The k best (kbest.h) of a family without a chart or exchanges use the MAP oracle and fix(): slots
// are fixed, and options are excluded by forbidding table[base(slot) + option], the empty option
// included. If fix() keeps too many structures, some are listed twice; if too few, some are lost.
// sparsewood.testing detects both. They take less time for a family that also has, for Thread only:
//
// - best_two(table, code, second): the MAP oracle, which also finds how much less the second best
//   structure scores, and a slot in which it differs.
//
// Members that refer to the caller's padded arrays:
//
// - set_size(size, shape, options): for an instance of `size` in an array of `shape` (without
// batch).
// - row(r): the position of a row of the table in the caller's array.
// - part(slot, option): the index of a part in that array; -1 for an empty option.
// - shift(g, table): may subtract a constant from cells of which every structure uses exactly one,
// so
//   that a large common score costs no precision.
// - event_size() and event(g, code, out): the structure in the caller's encoding.
#pragma once

#include "group/group.h"

namespace sparsewood {

constexpr double kAlways = -kForbidden;
constexpr double kNever = 0;

// The second best structure, relative to the best.
struct Second {
    double drop = -kForbidden;  // the score of the best minus its own
    int slot = -1;              // in which they differ; -1: there is no second structure

    SPARSEWOOD_HD void see(double other, int where) {
        if (other < drop) drop = other, slot = where;
    }
};

// A row of the table in the caller's array: cell c (after the empty one) is array[start + c step].
// Cells from skip_begin to skip_end are never read and forbidden.
struct Row {
    int64_t start, step;
    int skip_begin, skip_end;
};

template <class Family>
SPARSEWOOD_HD int64_t cells(const Family& family) {
    return int64_t(family.rows) * family.width;
}

// The number of leading cells that contain all options of penalised slots; overloaded if not all.
template <class Family>
SPARSEWOOD_HD int64_t penalised_cells(const Family& family) {
    return cells(family);
}

// Whether a cell is an option of a penalised slot; overloaded if some are not.
template <class Family>
SPARSEWOOD_HD bool is_penalised(const Family&, int64_t) {
    return true;
}

// The gap below which structures are crossed.
template <class Family>
SPARSEWOOD_HD constexpr double cross_gap(const Family&) {
    return Family::kCross;
}

// The maximum number of parts of a structure; overloaded if it is less than that of slots.
template <class Family>
SPARSEWOOD_HD int most_parts(const Family& family) {
    return family.slots;
}

// propose() and proposed() of a family that has them for this Group; otherwise 0 and a no-op.
template <class Family, class G>
SPARSEWOOD_HD auto propose(Family& family, const G& g, const double* table, int)
    -> decltype(family.propose(g, table)) {
    return family.propose(g, table);
}

template <class Family, class G>
SPARSEWOOD_HD int propose(Family&, const G&, const double*, long) {
    return 0;
}

template <class Family, class G>
SPARSEWOOD_HD auto proposed(Family& family, const G& g, int c, int16_t* code, int)
    -> decltype(family.proposed(g, c, code)) {
    family.proposed(g, c, code);
}

template <class Family, class G>
SPARSEWOOD_HD void proposed(Family&, const G&, int, int16_t*, long) {}

// fix() of a family whose slots are the rows of its table.
SPARSEWOOD_HD inline void fix_row(double* row, int width, int option) {
    for (int o = 0; o < width; ++o)
        if (o != option) row[o] = kForbidden;
}

// event() of a family whose structures are the 0/1 tables of their parts.
template <class G, class Family>
SPARSEWOOD_HD void mark_parts(const G& g, const Family& family, const int16_t* code, int64_t* out) {
    for (int64_t c = g.lane(); c < family.event_size(); c += g.size()) out[c] = 0;
    g.sync();
    for (int i = g.lane(); i < family.slots; i += g.size())
        if (code[i] > 0) out[family.part(i, code[i])] = 1;
}

// shift() of a row of which every structure uses exactly one cell: to maximum 0.
SPARSEWOOD_HD inline void shift_row(double* row, int width) {
    constexpr int kParts = 4;  // which do not wait for each other
    double tops[kParts] = {kForbidden, kForbidden, kForbidden, kForbidden};
    int o = 0;
    for (; o + kParts <= width; o += kParts)
        for (int v = 0; v < kParts; ++v) tops[v] = row[o + v] > tops[v] ? row[o + v] : tops[v];
    for (; o < width; ++o) tops[0] = row[o] > tops[0] ? row[o] : tops[0];
    double top = tops[0];
    for (int v = 1; v < kParts; ++v) top = tops[v] > top ? tops[v] : top;
    if (top == kForbidden) return;
    for (o = 0; o < width; ++o) row[o] -= top;
}

// shift() of a table of rows (0, score) of which every structure uses the same number: to maximum
// 0.
template <class G>
SPARSEWOOD_HD void shift_in(const G& g, double* table, int rows) {
    double top = kForbidden;
    for (int r = g.lane(); r < rows; r += g.size())
        top = table[2 * r + 1] > top ? table[2 * r + 1] : top;
    top = g.max(top);
    if (top == kForbidden) return;
    for (int r = g.lane(); r < rows; r += g.size()) table[2 * r + 1] -= top;
}

}  // namespace sparsewood
