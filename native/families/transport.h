// MAP oracle for pairs of rows and columns with capacities: a minimum-cost flow by the prices of
// columns and shortest augmenting paths (Ahuja, Magnanti & Orlin 1993, "Network flows", 9.7).
//
// Every row sends as many units as it may, every column receives as many. Where fewer are allowed,
// the rest goes to an extra column, or comes from an extra row, at score 0. The roles of rows and
// columns are exchanged if there are fewer rows.
//
// A column has a price, and each row sends its units to the columns with the largest scores minus
// prices. Some columns then receive too much. At first such a column raises its price by as much as
// makes its excess leave for second choices. Then each remaining unit moves along the cheapest path
// of exchanges to a column that receives too little. Any prices are valid to begin with, and those
// for the last table are a good start.
//
// A code has a slot for each pair: how often it is used, 0 or 1 for the solver. Its row of the
// table is (0, score). If the cell of an empty slot is forbidden, the pair must be used.
#pragma once

#include "families/family.h"
#include "families/select.h"

namespace sparsewood {

struct Transport {
    static constexpr bool kEmpty = true;
    static constexpr double kCross = kNever;
    int slots, penalised, rows, width;
    bool transposed;  // the columns of the scores are the rows here
    int givers;       // rows
    int takers;       // columns
    int froms, tos;   // the same with the extra ones
    int used;         // the most pairs of a structure
    bool priced;      // whether `price` is from a table of this size

    double* gain;     // (froms, tos) score of a pair that has room, kForbidden if it has none
    int32_t* flow;    // (tos, froms)
    int32_t* supply;  // (froms)
    int32_t* spare;   // (froms + tos) most units to the extra column, then from the extra row
    int32_t* excess;  // (tos) what a column receives too much
    double* price;    // (tos)
    // Scratch of a choice, or of the search for a path.
    double* value;    // (froms + tos) of candidates; the cost of the path to a column
    int32_t* order;   // (froms + 2 tos) candidates; columns in the order in which they were reached
    int32_t* other;   // (froms) the second choice of a row
    double* open;     // (tos) price of a column, kDone if it was reached
    double* arrival;  // (tos) the costs of the paths to the columns in `order`
    double* last;     // (tos) the last exchange on the path to a column: its row and column
    double* reached;  // (froms) the least cost of a unit of a row, before it goes elsewhere

    SPARSEWOOD_HD int64_t base(int slot) const { return 2 * int64_t(slot); }

    SPARSEWOOD_HD void lay_out(Arena& arena) {
        gain = arena.take<double>(int64_t(froms) * tos);
        flow = arena.take<int32_t>(int64_t(froms) * tos);
        supply = arena.take<int32_t>(froms);
        spare = arena.take<int32_t>(froms + tos);
        excess = arena.take<int32_t>(tos);
        price = arena.take<double>(tos);
        value = arena.take<double>(froms + tos);
        order = arena.take<int32_t>(froms + 2 * int64_t(tos));
        other = arena.take<int32_t>(froms);
        open = arena.take<double>(tos);
        arrival = arena.take<double>(tos);
        last = arena.take<double>(tos);
        reached = arena.take<double>(froms);
        priced = false;
    }

    template <class G>
    SPARSEWOOD_HD bool operator()(const G& g, const double* table, int16_t* code) {
        for (int i = 0; i < froms; ++i)
            for (int j = g.lane(); j < tos; j += g.size())
                gain[int64_t(i) * tos + j] =
                    i == givers || j == takers ? 0 : allowed(table + base(slot(i, j)));
        for (int64_t c = g.lane(); c < int64_t(froms) * tos; c += g.size()) flow[c] = 0;
        g.sync();
        double found = 0;
        if (g.leader()) found = priced = transport(g, table);
        g.sync();
        if (!(g.sum(found) > 0)) return false;
        for (int i = 0; i < givers; ++i)
            for (int j = g.lane(); j < takers; j += g.size()) {
                int s = slot(i, j);
                bool must = table[base(s)] == kForbidden;
                code[s] = static_cast<int16_t>(must ? 1 : flow[int64_t(j) * froms + i]);
            }
        g.sync();
        return true;
    }

    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        fix_row(table + base(slot), 2, option);
    }

    // size, shape: rows and columns. options: twice the number of bounds of each side, plus 1 if a
    // pair may be used several times; if so, how often; then the bounds of the rows, the last one
    // for all others, and those of the columns. A bound has two numbers of 16 bits: the fewest
    // units, and above it the most.
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape, const int64_t* options) {
        transposed = size[0] < size[1];
        givers = static_cast<int>(size[transposed ? 1 : 0]);
        takers = static_cast<int>(size[transposed ? 0 : 1]);
        slots = penalised = rows = givers * takers;
        width = 2;
        padded_rows = shape[0], padded_columns = shape[1];
        listed = options[0] / 2;
        several = options[0] % 2 != 0 ? static_cast<int>(options[1]) : 1;
        bounds = options + 1 + options[0] % 2;
        bool slack[2] = {false, false};  // of rows and of columns
        int64_t units[2] = {0, 0};
        for (int side = 0; side < 2; ++side)
            for (int i = 0; i < (side ? takers : givers); ++i) {
                slack[side] |= fewest(transposed != side, i) < most(transposed != side, i);
                units[side] += most(transposed != side, i);
            }
        froms = givers + slack[1];
        tos = takers + slack[0];
        int64_t filled = units[0] < units[1] ? units[0] : units[1];
        used = filled < slots ? static_cast<int>(filled) : slots;
    }

    SPARSEWOOD_HD Row row(int r) const { return {part(r, 1), 1, 0, 0}; }

    SPARSEWOOD_HD int64_t part(int slot, int option) const {
        int across = transposed ? givers : takers;
        return option == 0 ? -1 : slot / across * padded_columns + slot % across;
    }

    // Every structure uses a row or column with a fixed number of units that many times.
    template <class G>
    SPARSEWOOD_HD void shift(const G& g, double* table) const {
        for (int i = g.lane(); i < givers; i += g.size())
            if (fewest(transposed, i) == most(transposed, i))
                lower(table, slot(i, 0), slot(0, 1), takers);
        g.sync();
        for (int j = g.lane(); j < takers; j += g.size())
            if (fewest(!transposed, j) == most(!transposed, j))
                lower(table, slot(0, j), slot(1, 0), givers);
    }

    SPARSEWOOD_HD int64_t event_size() const { return padded_rows * padded_columns; }

    template <class G>
    SPARSEWOOD_HD void event(const G& g, const int16_t* code, int64_t* out) const {
        for (int64_t c = g.lane(); c < event_size(); c += g.size()) out[c] = 0;
        g.sync();
        for (int i = g.lane(); i < slots; i += g.size()) out[part(i, 1)] = code[i];
    }

  private:
    static constexpr double kDone = -kForbidden;
    static constexpr int kPoll = 64;     // choices of rows, or exchanges, between two polls
    static constexpr int kBidding = 16;   // rows that bid, per row of the instance
    int64_t padded_rows, padded_columns;  // of the caller's array
    int several;                          // how often a pair may be used
    int64_t listed;                       // bounds of each side
    const int64_t* bounds;                // (2, listed)

    // The bounds of row or column i of the scores.
    SPARSEWOOD_HD int bound(int side, int i, bool upper) const {
        int64_t bits = bounds[side * listed + (i < listed ? i : listed - 1)];
        return static_cast<int>(bits >> 16 * upper & 0xffff);
    }
    SPARSEWOOD_HD int fewest(int side, int i) const { return bound(side, i, false); }
    SPARSEWOOD_HD int most(int side, int i) const { return bound(side, i, true); }

    SPARSEWOOD_HD int slot(int i, int j) const {
        return transposed ? j * givers + i : i * takers + j;
    }

    // The score of a pair that may be used or not; otherwise kForbidden.
    static SPARSEWOOD_HD double allowed(const double* cells) {
        return cells[0] == kForbidden ? kForbidden : cells[1];
    }

    SPARSEWOOD_HD int64_t capacity(int i, int j) const {
        if (i < givers && j < takers) return several;
        if (i == givers && j == takers) return int64_t{1} << 40;
        return i < givers ? spare[i] : spare[froms + j];
    }
    SPARSEWOOD_HD int64_t room(int i, int j) const {
        return capacity(i, j) - flow[int64_t(j) * froms + i];
    }
    SPARSEWOOD_HD double score(const double* table, int i, int j) const {
        return i < givers && j < takers ? table[base(slot(i, j)) + 1] : 0;
    }

    // Sends units from i to j, back if negative.
    SPARSEWOOD_HD void send(const double* table, int i, int j, int units) {
        flow[int64_t(j) * froms + i] += units;
        excess[j] += units;
        gain[int64_t(i) * tos + j] = room(i, j) > 0 ? score(table, i, j) : kForbidden;
    }

    template <class G>
    SPARSEWOOD_HD bool transport(const G& g, const double* table) {
        if (!set_capacities(table)) return false;
        double least = priced ? price[0] : 0;
        for (int j = 1; j < tos; ++j) least = priced && price[j] < least ? price[j] : least;
        for (int j = 0; j < tos; ++j) price[j] = priced ? price[j] - least : 0;
        for (int i = 0; i < froms; ++i) {
            if (i % kPoll == kPoll - 1) g.poll();
            if (!choose(table, i)) return false;
        }
        bid(g, table);
        for (int j = 0, found = 0; j < tos; ++j)
            while (excess[j] > 0) {
                if (found++ % kPoll == kPoll - 1) g.poll();
                if (!find_path(table, j)) return false;
            }
        return true;
    }

    // The units of rows and columns, less those of pairs that must be used. False if they cannot be
    // equally many.
    SPARSEWOOD_HD bool set_capacities(const double* table) {
        int64_t sent = 0, received = 0;
        int32_t* left = order;  // the fewest units of a row, then of a column
        for (int i = 0; i < givers; ++i)
            supply[i] = most(transposed, i), left[i] = fewest(transposed, i);
        int32_t* least = left + froms;
        for (int j = 0; j < takers; ++j)
            excess[j] = -most(!transposed, j), least[j] = fewest(!transposed, j);
        for (int i = 0; i < givers; ++i)
            for (int j = 0; j < takers; ++j) {
                const double* cells = table + base(slot(i, j));
                if (cells[0] != kForbidden) continue;
                if (cells[1] == kForbidden) return false;
                --supply[i], --left[i], ++excess[j], --least[j];
            }
        for (int i = 0; i < givers; ++i) {
            spare[i] = supply[i] - (left[i] > 0 ? left[i] : 0);
            if (supply[i] < 0) return false;
            sent += supply[i];
        }
        for (int j = 0; j < takers; ++j) {
            spare[froms + j] = -excess[j] - (least[j] > 0 ? least[j] : 0);
            if (excess[j] > 0) return false;
            received -= excess[j];
        }
        bool both = froms > givers && tos > takers;
        int64_t from_extra = both ? received : received - sent;
        int64_t to_extra = both ? sent : sent - received;
        if (froms > givers) supply[givers] = static_cast<int32_t>(from_extra), sent += from_extra;
        if (tos > takers) excess[takers] = -static_cast<int32_t>(to_extra), received += to_extra;
        for (int j = 0; froms > givers && j < takers; ++j)
            if (spare[froms + j] == 0) gain[int64_t(givers) * tos + j] = kForbidden;
        for (int i = 0; tos > takers && i < givers; ++i)
            if (spare[i] == 0) gain[int64_t(i) * tos + takers] = kForbidden;
        return sent == received && (froms == givers || from_extra >= 0) &&
               (tos == takers || to_extra >= 0);
    }

    // Sends the units of row i to the best columns; of equal ones, to those that want more. False
    // if these have no room.
    SPARSEWOOD_HD bool choose(const double* table, int i) {
        const double* row = gain + int64_t(i) * tos;
        int units = supply[i], at = 0, equal = 0, count = 0;
        if (units == 0) return true;
        double best = kForbidden;
        for (int j = 0; j < tos; ++j) {
            value[j] = row[j] - price[j];
            best = value[j] > best ? value[j] : best;
        }
        for (int j = 0; j < tos; ++j)
            if (value[j] == best && (equal++ == 0 || (excess[j] < 0 && excess[at] >= 0))) at = j;
        bool suits = equal == 1 || units == 1 || -excess[at] >= units;
        if (suits && best != kForbidden && room(i, at) >= units) {
            send(table, i, at, units);
            return true;
        }
        // The units that a column wants come before more of them: candidate j + tos.
        for (int j = 0; j < tos; ++j)
            if (value[j] != kForbidden) order[count++] = j, order[count++] = j + tos;
        auto is_better = [&](int a, int b) {
            int j = a % tos, k = b % tos;
            return value[j] != value[k] ? value[j] > value[k] : a < b;
        };
        auto weight = [&](int a) {
            int j = a % tos;
            int64_t all = capacity(i, j), wanted = excess[j] < 0 ? -excess[j] : 0;
            wanted = wanted < all ? wanted : all;
            return a < tos ? wanted : all - wanted;
        };
        // `excess` decides, so it stays the same until all are chosen.
        auto give = [&](int a, int amount) { flow[int64_t(a % tos) * froms + i] += amount; };
        if (select_by_weight(order, count, units, is_better, weight, give) > 0) return false;
        for (int j = 0; j < tos; ++j) {
            int32_t& chosen = flow[int64_t(j) * froms + i];
            int amount = chosen;
            chosen = 0;
            if (amount > 0) send(table, i, j, amount);
        }
        return true;
    }

    // Columns that receive too much raise their prices, until few units are left or no more time is
    // to be spent on it.
    template <class G>
    SPARSEWOOD_HD void bid(const G& g, const double* table) {
        int64_t left = int64_t(kBidding) * froms;
        for (bool raised = true; raised && left > 0;) {
            raised = false;
            g.poll();
            for (int j = 0; j < tos && left > 0; ++j)
                if (excess[j] > 0) raised |= raise(table, j, left);
        }
    }

    // Raises the price of column j until its excess goes to the second choices of rows. False if
    // no row has one.
    SPARSEWOOD_HD bool raise(const double* table, int j, int64_t& left) {
        const int32_t* from = flow + int64_t(j) * froms;
        double own = price[j], limit = kDone;
        int count = 0;
        price[j] = kDone;
        for (int i = 0; i < froms; ++i) {
            if (from[i] == 0) continue;
            const double* row = gain + int64_t(i) * tos;
            double best = kForbidden;
            for (int k = 0; k < tos; ++k) {
                double x = row[k] - price[k];
                best = x > best ? x : best;
            }
            --left;
            if (best == kForbidden) continue;
            int at = 0;
            while (row[at] - price[at] != best) ++at;
            double loss = score(table, i, j) - own - best;
            value[i] = loss > 0 ? loss : 0;
            other[i] = at;
            order[count++] = i;
            if (room(i, at) < from[i] && value[i] < limit) limit = value[i];
        }
        price[j] = own;
        double top = 0;
        int moved = 0;
        auto is_better = [&](int a, int b) {
            return value[a] < value[b] || (value[a] == value[b] && a < b);
        };
        auto weight = [&](int i) {
            int64_t most = room(i, other[i]);
            return value[i] > limit ? 0 : most < from[i] ? most : from[i];
        };
        auto give = [&](int i, int amount) {
            if (amount == 0) return;
            top = value[i] > top ? value[i] : top;
            send(table, i, other[i], amount);
            send(table, i, j, -amount);
            moved += amount;
        };
        select_by_weight(order, count, excess[j], is_better, weight, give);
        // As far as the next unit would stay: other columns then raise theirs less often.
        double stay = kDone;
        for (int c = 0; c < count; ++c)
            if (from[order[c]] > 0 && value[order[c]] < stay) stay = value[order[c]];
        price[j] = own + (stay < kDone ? stay : top);
        return moved > 0;
    }

    // Moves units from column `start` along the cheapest path (Dijkstra); false if there is none.
    SPARSEWOOD_HD bool find_path(const double* table, int start) {
        for (int j = 0; j < tos; ++j) open[j] = price[j], value[j] = kDone;
        for (int i = 0; i < froms; ++i) reached[i] = kDone;
        int count = 0, at = start;
        for (double cost = 0;;) {
            order[count] = at;
            arrival[count++] = cost;
            if (excess[at] < 0) break;
            open[at] = value[at] = kDone;
            const int32_t* from = flow + int64_t(at) * froms;
            for (int i = 0; i < froms; ++i) {
                if (from[i] == 0) continue;
                double less = cost + (score(table, i, at) - price[at]);
                if (!(less < reached[i])) continue;
                reached[i] = less;
                see_columns(gain + int64_t(i) * tos, less, cost, double(i) * tos + at);
            }
            cost = kDone;
            for (int j = 0; j < tos; ++j) cost = value[j] < cost ? value[j] : cost;
            if (cost == kDone) return false;
            at = nearest(cost);
        }
        for (int c = 0; c < count; ++c) price[order[c]] += arrival[count - 1] - arrival[c];
        move_along(table, start, at);
        return true;
    }

    // A column to which the path has this cost, one that wants more if there is one.
    SPARSEWOOD_HD int nearest(double cost) const {
        int at = -1;
        for (int j = 0; j < tos && (at < 0 || excess[at] >= 0); ++j)
            if (value[j] == cost && (at < 0 || excess[j] < 0)) at = j;
        return at;
    }

    // Lowers the costs of paths to the columns to which a row may send a unit.
    SPARSEWOOD_HD void see_columns(const double* row, double less, double least, double exchange) {
        for (int j = 0; j < tos; ++j) {
            double x = less - (row[j] - open[j]);
            x = x > least ? x : least;
            bool is_less = x < value[j];
            value[j] = is_less ? x : value[j];
            last[j] = is_less ? exchange : last[j];
        }
    }

    SPARSEWOOD_HD void move_along(const double* table, int start, int end) {
        int64_t units = excess[start] < -excess[end] ? excess[start] : -excess[end];
        auto each = [&](auto exchange) {
            for (int j = end; j != start;) {
                int64_t found = static_cast<int64_t>(last[j]);
                int i = static_cast<int>(found / tos), from = static_cast<int>(found % tos);
                exchange(i, from, j);
                j = from;
            }
        };
        each([&](int i, int from, int to) {
            int64_t here = room(i, to), there = flow[int64_t(from) * froms + i];
            units = here < units ? here : units;
            units = there < units ? there : units;
        });
        each([&](int i, int from, int to) {
            send(table, i, from, -static_cast<int>(units));
            send(table, i, to, static_cast<int>(units));
        });
    }

    // Shifts the scores of some slots so that the largest is 0; does nothing if all are forbidden.
    SPARSEWOOD_HD void lower(double* table, int first, int next, int count) const {
        double top = kForbidden;
        double* cells = table + base(first) + 1;
        int64_t step = base(next);
        for (int c = 0; c < count; ++c) top = cells[c * step] > top ? cells[c * step] : top;
        if (top == kForbidden) return;
        for (int c = 0; c < count; ++c) cells[c * step] -= top;
    }
};

SPARSEWOOD_HD inline int most_parts(const Transport& family) { return family.used; }

// Prices for scores of a very different magnitude are of no use.
SPARSEWOOD_HD inline void forget(Transport& family) { family.priced = false; }

}  // namespace sparsewood
