#include "sums/path_lines.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "group/thread.h"
#include "group/wide.h"
#include "sums/exponential.h"
#include "sums/numbers.h"

namespace sparsewood {

namespace {

constexpr int kReach = StepSet::kReach;
constexpr double kClosed = -1e300;  // the exponent of 0
constexpr double kFar = -1e7;       // a sum of paths so far below the best scores is inexact
constexpr double kExact = 1e15;     // scores beyond which 2^k alone has the precision of the score
constexpr double kRound = 0x1.8p52;  // leaves the nearest whole number in the low bits

// 2^d for a whole number d of at most 1000; what is below -1020 counts as that.
SPARSEWOOD_INLINE double power_of_two(double d) {
    const double shifted = (d > -1020 ? d : -1020) + kRound;
    uint64_t bits;
    std::memcpy(&bits, &shifted, 8);
    bits = (bits + 1023) << 52;
    double power;
    std::memcpy(&power, &bits, 8);
    return power;
}

// factor 2^scale = exp(score - top).
SPARSEWOOD_WIDE void exponentials(const double* scores, int64_t step, int64_t count, double top,
                                  double* factor, double* scale) {
    for (int64_t i = 0; i < count; ++i) {
        const double given = scores[i * step];
        const double x = given - top;
        const double k = std::nearbyint(x * 0x1.71547652b82fep0);
        double r = (x - k * 0x1.62e42fefa0000p-1) - k * 0x1.cf79abc9e3b39p-40;
        r = x > -kExact ? r : 0;
        const bool exists = given > kNone / 2;
        factor[i] = exists ? exp_series(r) : 0;
        scale[i] = exists ? k : 0;
    }
}

// The paths that lead on from one line to another by up to kReach + 1 steps: for each cell the sum
// over s of w[i + offset[s]] 2^e[i + offset[s]].
SPARSEWOOD_WIDE void gather(const double* w, const double* e, const double* closed, int64_t stride,
                            const int* offset, int steps, int64_t count, double* sum, double* top) {
    for (int64_t i = 0; i < count; ++i) top[i] = kClosed;
    for (int s = 0; s < steps; ++s) {
        const double *from = e + offset[s], *shut = closed + s * stride;
        for (int64_t i = 0; i < count; ++i) {
            const double x = from[i] + shut[i];
            top[i] = x > top[i] ? x : top[i];
        }
    }
    for (int64_t i = 0; i < count; ++i) sum[i] = 0;
    for (int s = 0; s < steps; ++s) {
        const double *from = e + offset[s], *many = w + offset[s], *shut = closed + s * stride;
        for (int64_t i = 0; i < count; ++i)
            sum[i] += many[i] * power_of_two(from[i] + shut[i] - top[i]);
    }
}

// w 2^e <- w 2^e factor 2^scale, with w from 1 to 2, or 0.
SPARSEWOOD_WIDE void multiply(const double* w, const double* e, const double* factor,
                              const double* scale, int64_t count, double* to_w, double* to_e) {
    for (int64_t i = 0; i < count; ++i) {
        const double x = w[i] * factor[i];
        uint64_t bits, field = 0x4330000000000000;
        std::memcpy(&bits, &x, 8);
        field |= bits >> 52;
        double exponent;
        std::memcpy(&exponent, &field, 8);
        exponent -= 0x1p52 + 1023;
        const bool exists = exponent > -1022;
        to_w[i] = exists ? x * power_of_two(-exponent) : 0;
        to_e[i] = exists ? e[i] + scale[i] + exponent : kClosed;
    }
}

SPARSEWOOD_WIDE void shares(const double* w, const double* e, const double* rest,
                            const double* rest_e, int64_t count, double total, double total_e,
                            double* to, int64_t step) {
    for (int64_t i = 0; i < count; ++i)
        to[i * step] = w[i] * rest[i] / total * power_of_two(e[i] + (rest_e[i] - total_e));
}

}  // namespace

double PathLines::sum(const double* scores, int64_t rows, int64_t columns, int64_t padded_rows,
                      int64_t padded_columns, const StepSet& steps, bool by_rows,
                      double* marginals) {
    const int64_t lines = by_rows ? rows : columns, count = by_rows ? columns : rows;
    const int64_t next = by_rows ? padded_columns : 1, step = by_rows ? 1 : padded_columns;
    std::fill(marginals, marginals + padded_rows * padded_columns, 0.0);
    stride_ = count + 2 * kReach;
    const size_t room = static_cast<size_t>(lines * stride_), line = static_cast<size_t>(stride_);
    for (auto* table : {&factor_, &scale_, &before_})
        table->resize(std::max(table->size(), room));
    before_exponent_.assign(std::max(before_exponent_.size(), room), kClosed);
    std::fill(before_.begin(), before_.end(), 0.0);
    after_.assign(2 * line, 0.0), after_exponent_.assign(2 * line, kClosed);
    rest_.assign(line, 0.0), rest_exponent_.assign(line, kClosed);

    int back[StepSet::kMost], ahead[StepSet::kMost];
    closed_.assign(2 * line * static_cast<size_t>(steps.count), 0.0);
    double *shut = closed_.data(), *shut_ahead = shut + stride_ * steps.count;
    for (int s = 0; s < steps.count; ++s) {
        ahead[s] = by_rows ? steps.right[s] : steps.down[s], back[s] = -ahead[s];
        for (int64_t i = 0; i < count && !by_rows; ++i) {
            if (!steps.leads_to(s, static_cast<int>(i))) shut[s * stride_ + i] = kClosed;
            if (!steps.leads_to(s, static_cast<int>(i) + ahead[s]))
                shut_ahead[s * stride_ + i] = kClosed;
        }
    }

    auto cell = [&](std::vector<double>& table, int64_t j) {
        return table.data() + j * stride_ + kReach;
    };
    double shared = 0;
    for (int64_t j = 0; j < lines; ++j) {
        if (j % 256 == 255) poll();
        const double* from = scores + j * next;
        double top = kNone;
        for (int64_t i = 0; i < count; ++i) {
            if (!(from[i * step] < HUGE_VAL)) return NAN;
            top = std::max(top, from[i * step]);
        }
        top = top > kNone / 2 ? top : 0;
        shared += top;
        exponentials(from, step, count, top, cell(factor_, j), cell(scale_, j));
        double *sum = cell(rest_, 0), *exponent = cell(rest_exponent_, 0);
        if (j == 0) {
            for (int64_t i = 0; i < count; ++i) {
                bool starts = i == 0 || (i == 1 && steps.blanks);
                sum[i] = starts, exponent[i] = starts ? 0 : kClosed;
            }
        } else {
            gather(cell(before_, j - 1), cell(before_exponent_, j - 1), shut, stride_, back,
                   steps.count, count, sum, exponent);
        }
        multiply(sum, exponent, cell(factor_, j), cell(scale_, j), count, cell(before_, j),
                 cell(before_exponent_, j));
    }

    double total = 0, total_exponent = kClosed;
    const double *last = cell(before_, lines - 1), *last_e = cell(before_exponent_, lines - 1);
    const int64_t first_end = steps.blanks ? std::max<int64_t>(count - 2, 0) : count - 1;
    for (int64_t i = first_end; i < count; ++i) total_exponent = std::max(total_exponent, last_e[i]);
    for (int64_t i = first_end; i < count; ++i)
        total += last[i] * power_of_two(last_e[i] - total_exponent);
    if (!(total > 0 && total_exponent > kFar)) return HUGE_VAL;

    for (int64_t j = lines - 1; j >= 0; --j) {
        if (j % 256 == 255) poll();
        double *sum = cell(rest_, 0), *exponent = cell(rest_exponent_, 0);
        if (j == lines - 1) {
            for (int64_t i = 0; i < count; ++i)
                sum[i] = i >= first_end, exponent[i] = i >= first_end ? 0 : kClosed;
        } else {
            gather(cell(after_, (j + 1) % 2), cell(after_exponent_, (j + 1) % 2), shut_ahead, stride_,
                   ahead, steps.count, count, sum, exponent);
        }
        shares(cell(before_, j), cell(before_exponent_, j), sum, exponent, count, total,
               total_exponent, marginals + j * next, step);
        multiply(sum, exponent, cell(factor_, j), cell(scale_, j), count, cell(after_, j % 2),
                 cell(after_exponent_, j % 2));
    }
    return shared + (std::log(total) + total_exponent * 0x1.62e42fefa39efp-1);
}

}  // namespace sparsewood
