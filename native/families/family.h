// What the solver knows of a family of structures.
//
// A structure is a code: one option for each of `slots` slots. Scores stand in a table of `rows`
// rows of `width` cells; option o of slot i scores table[base(i) + o], and a forbidden one
// kForbidden. Slots may share a row: a state and the transition into it do. The first `penalised`
// slots carry the quadratic penalty; they determine the structure.
//
// A family is a struct. It has the four numbers above and two constants:
//
// - kEmpty: option 0 of every slot is no part; its cell, the first of each row, is 0.
// - kCross: the gap below which structures are crossed; kAlways, or kNever: it has no cross().
//
// What runs on any device:
//
// - base(slot): where the options of a slot begin in the table.
// - lay_out(arena): takes scratch memory.
// - lay_out_cross(arena): takes what cross() needs, each lane for itself.
// - operator()(g, table, code): the MAP oracle. False when every structure uses a forbidden cell,
//   and the cell of an empty option, the first of its row, may be forbidden as well: the slot then
//   must not be empty. Ties are decided the same way each time.
// - cross(table, a, b): mixes b into a where pieces of b can be exchanged and score higher; returns
//   by how much the score rose, and leaves a as it was when that is 0. One lane's work; both codes
//   are whole blocks, their padding 0.
// - fix(table, slot, option): forbids cells so that, of the structures that the table allowed,
//   exactly those are left that choose `option` in this penalised slot, and score what they did.
//   For a row of its own that is fix_row(): every other option of the slot, the empty one too.
//
// A family that knows SparseMAP in closed form has, for a Thread alone:
//
// - propose(g, table): for scores as in `table`, how many structures span the solution; 0: unknown.
// - proposed(g, c, code): number c of them, asked for in rising order. They should be affinely
//   independent; the solver starts from them, finds their weights and certifies the answer.
//
// The k best (kbest.h) rest on the last two: slots are fixed from the first on, and single options
// of the next one denied by forbidding table[base(slot) + option], the empty option like any other.
// A fix() that leaves more lists structures twice, one that leaves less loses some;
// sparsewood.testing finds both.
//
// What ties it to the caller's padded arrays:
//
// - set_size(size, shape, options): for an instance of `size` in an array of `shape` (batch not
//   included).
// - row(r): where a row of the table is in the caller's array.
// - part(slot, option): the index of a part in that array; -1 for an empty option.
// - shift(g, table): may subtract a constant from cells of which every structure uses exactly one, so
//   that a large common score takes no digits from those that compete.
// - event_size() and event(g, code, out): the structure as the caller sees it.
#pragma once

#include "group/group.h"

namespace sparsewood {

constexpr double kAlways = -kForbidden;
constexpr double kNever = 0;

// A row of the table in the caller's array: cell c (after the empty one) is array[start + c step].
// Those from skip_begin to skip_end are never read, and forbidden.
struct Row {
    int64_t start, step;
    int skip_begin, skip_end;
};

template <class Family>
SPARSEWOOD_HD int64_t cells(const Family& family) {
    return int64_t(family.rows) * family.width;
}

// The options of the penalised slots lie in the first so many cells; overloaded where that is less
// than all.
template <class Family>
SPARSEWOOD_HD int64_t penalised_cells(const Family& family) {
    return cells(family);
}

// Whether a cell is an option of a penalised slot; overloaded where some are not.
template <class Family>
SPARSEWOOD_HD bool is_penalised(const Family&, int64_t) {
    return true;
}

// The gap below which structures are crossed.
template <class Family>
SPARSEWOOD_HD constexpr double cross_gap(const Family&) {
    return Family::kCross;
}

// propose() and proposed() of a family that has them for this Group; else 0, and nothing.
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
    double top = kForbidden;
    for (int o = 0; o < width; ++o) top = row[o] > top ? row[o] : top;
    if (top == kForbidden) return;
    for (int o = 0; o < width; ++o) row[o] -= top;
}

// shift() of a table of rows (0, score) of which every structure uses as many: to maximum 0.
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
