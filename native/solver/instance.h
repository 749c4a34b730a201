// One instance, from the caller's padded array to its status: shared by CPU threads and CUDA
// kernels.
#pragma once

#include "solver/solver.h"

namespace sparsewood {

constexpr double kLargest = 1e200;  // sums of such scores still fit in a double
constexpr int kPollRows = 256;      // rows of scores read between two polls

SPARSEWOOD_HD inline bool is_temperature(double t) { return t > 0 && t < -kForbidden; }

// The result of reading the scores of an instance.
struct Reading {
    double range;  // of the finite scores
    int64_t bad;   // index of an invalid score in the caller's array; -1: none
};

// The scores read so far, in parts that do not wait for each other.
struct Extremes {
    static constexpr int kParts = 4;
    double lowest[kParts], highest[kParts];

    SPARSEWOOD_HD Extremes() {
        for (int v = 0; v < kParts; ++v) lowest[v] = -kForbidden, highest[v] = kForbidden;
    }
    SPARSEWOOD_HD void add(int v, double s) {
        highest[v] = s > highest[v] ? s : highest[v];
        lowest[v] = s < lowest[v] ? s : lowest[v];
    }
};

// Copies cells [begin, end) of a row for one CPU thread. Returns the index of an invalid score, -1:
// none.
template <class From>
int64_t read_cells(const From& from, const Row& row, int begin, int end, double temperature,
                   double* to, Extremes& range) {
    bool fine = true;
    Extremes found = range;
    int cell = begin;
    auto take = [&](int v, int c) {
        double given = from[row.start + c * row.step];
        double s = temperature == 1 ? given : given / temperature;
        to[c] = s;
        fine &= s <= kLargest && s >= -kLargest;
        found.add(v, s);
    };
    for (; cell + Extremes::kParts <= end; cell += Extremes::kParts)
        for (int v = 0; v < Extremes::kParts; ++v) take(v, cell + v);
    for (; cell < end; ++cell) take(0, cell);
    if (fine) {
        range = found;
        return -1;
    }
    for (cell = begin; cell < end; ++cell) {  // some are forbidden, or invalid
        double s = to[cell];
        if (s <= kLargest && s >= -kLargest)
            range.add(0, s);
        else if (double(from[row.start + cell * row.step]) != kForbidden)
            return row.start + cell * row.step;
    }
    return -1;
}

// read_scores() for one CPU thread, row by row.
template <class Family, class From>
Reading read_rows(const Family& f, const From& from, double temperature, double* table) {
    Extremes range;
    for (int r = 0; r < f.rows; ++r, table += f.width) {
        if (r % kPollRows == kPollRows - 1) Thread::poll();
        Row row = f.row(r);
        int cells = f.width - Family::kEmpty;
        int skip = row.skip_begin < cells ? row.skip_begin : cells;
        int stop = row.skip_end < cells ? row.skip_end : cells;
        if (stop < skip) stop = skip;
        double* to = table + Family::kEmpty;
        if (Family::kEmpty) table[0] = 0;
        for (int c = skip; c < stop; ++c) to[c] = kForbidden;
        int64_t bad = read_cells(from, row, 0, skip, temperature, to, range);
        if (bad < 0) bad = read_cells(from, row, stop, cells, temperature, to, range);
        if (bad >= 0) return {0, bad};
    }
    double lowest = -kForbidden, highest = kForbidden;
    for (int v = 0; v < Extremes::kParts; ++v) {
        highest = range.highest[v] > highest ? range.highest[v] : highest;
        lowest = range.lowest[v] < lowest ? range.lowest[v] : lowest;
    }
    return {highest > lowest ? highest - lowest : 0, -1};
}

// Copies an instance, divided by the temperature, to the table of a family that is set to its size.
// from: an array, or an object that can be indexed like one.
template <class G, class Family, class From>
SPARSEWOOD_HD Reading read_scores(const G& g, const Family& f, const From& from, double temperature,
                                  double* table) {
#ifndef __CUDACC__
    if constexpr (G::kLanes == 1) {
        Reading found = read_rows(f, from, temperature, table);
        if (found.bad < 0) f.shift(g, table);
        return found;
    }
#endif
    double lowest = -kForbidden, highest = kForbidden;
    int64_t bad = -1;
    int width = f.width, down = g.size() / width, across = g.size() % width, known = -1;
    Row row{};
    for (int r = g.lane() / width, c = g.lane() % width; r < f.rows && bad < 0;) {
        if (r != known) {
            row = f.row(known = r);
            if (r % kPollRows == kPollRows - 1) g.poll();
        }
        double* to = table + int64_t(r) * width + c;
        int cell = c - Family::kEmpty;
        if (Family::kEmpty && c == 0) {
            *to = 0;
        } else if (cell >= row.skip_begin && cell < row.skip_end) {
            *to = kForbidden;
        } else {
            int64_t at = row.start + cell * row.step;
            double given = from[at], s = temperature == 1 ? given : given / temperature;
            *to = s;
            if (s <= kLargest && s >= -kLargest) {
                highest = s > highest ? s : highest;
                lowest = s < lowest ? s : lowest;
            } else if (given != kForbidden) {
                bad = at;
            }
        }
        r += down, c += across;
        if (c >= width) ++r, c -= width;
    }
    g.sync();
    // If several lanes found an invalid score, any will do: the CPU reports the first.
    if (g.max(static_cast<double>(bad)) >= 0) return {0, bad < 0 ? 0 : bad};
    f.shift(g, table);
    g.sync();
    highest = g.max(highest), lowest = -g.max(-lowest);
    return {highest > lowest ? highest - lowest : 0, -1};
}

// Whether crosses enter from the start. If a cap binds, which it does below the number of slots,
// the oracle's structures alone give the best result. If all scores are equal, few of the oracle's
// structures suffice, and crosses would only add more.
template <class Family>
SPARSEWOOD_HD bool starts_with_crosses(const Family& f, Limits limits, double range) {
    return limits.max_iter == 0 && (limits.max_active == 0 || limits.max_active >= f.slots) &&
           (range > 0 || cross_gap(f) < kAlways);
}

// The status of a finished run, including the rounding error of the gap.
template <class Family>
SPARSEWOOD_HD Status verdict(const Solver<Family>& solver, Status end) {
    if (end == Status::kCapped) return end;
    if (solver.is_certified()) return Status::kSolved;
    return end == Status::kLimited ? end : Status::kStalled;
}

}  // namespace sparsewood
