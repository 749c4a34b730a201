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

// Copies an instance, divided by the temperature, to the table of a family that is set to its size.
// from: an array, or an object that can be indexed like one.
template <class G, class Family, class From>
SPARSEWOOD_HD Reading read_scores(const G& g, const Family& f, const From& from, double temperature,
                                  double* table) {
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
