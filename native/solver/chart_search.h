// The k best structures of a family by its chart.
#pragma once

#include <vector>

#include "solver/best_derivations.h"
#include "solver/chart_of.h"

namespace sparsewood {

template <class Family>
class ChartSearch {
  public:
    // Begins with the scores of another instance. False if the chart takes more memory or time than
    // Lawler's algorithm.
    bool begin(const Family& family, const double* table, int64_t k) {
        if (!Of::pays(family, k)) return false;
        family_ = &family;
        best_.chart = Of::make(family);
        if (!best_.fits()) return false;
        cells_.assign(static_cast<size_t>(best_.chart.parts), kNothing);
        left_ = best_.begin([&](auto read) {
            Of::each_part(family, best_.chart, [&](int64_t part, int64_t cell) {
                cells_[static_cast<size_t>(part)] = static_cast<int32_t>(cell);
                read(part, cell == kNothing ? &kZero : table + cell);
            });
        });
        started_ = false;
        return true;
    }

    // A pass over the chart counts as one.
    int64_t calls() const { return 1; }

    // The next best structure; false if there is none left.
    bool next(std::vector<int16_t>& code) {
        if (started_ && left_) left_ = best_.next();
        started_ = true;
        if (!left_) return false;
        code.assign(static_cast<size_t>(family_->slots), 0);
        best_.each_used([&](int64_t part, int label) {
            int64_t cell = cells_[static_cast<size_t>(part)];
            if (cell == kNothing) return;
            int slot = slot_of(*family_, cell);
            code[static_cast<size_t>(slot)] =
                static_cast<int16_t>(cell + label - family_->base(slot));
        });
        return true;
    }

  private:
    using Of = ChartOf<Family>;
    static constexpr double kZero = 0;
    const Family* family_ = nullptr;
    BestDerivations<typename Of::Chart> best_;
    std::vector<int32_t> cells_;  // of the table, by part of the chart
    bool started_ = false, left_ = false;
};

// A family without a chart.
struct NoChartSearch {};

}  // namespace sparsewood
