// Sums over monotone paths with one cell in each line (column, or row), a line at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "families/step_set.h"

namespace sparsewood {

// Whether every step of a set leads to the next line; `by_rows`: lines are rows, else columns.
inline bool goes_by_lines(const StepSet& steps, bool by_rows) {
    for (int s = 0; s < steps.count; ++s)
        if ((by_rows ? steps.down[s] : steps.right[s]) != 1) return false;
    return !(by_rows && steps.blanks);
}

// The logarithm of the sum over all paths through cells scored (padded_rows, padded_columns), of
// which an instance fills the first rows and columns, and the probability of each cell, which is its
// derivative; padding gets 0. NaN if a score is NaN or +inf. The memory is kept between calls.
//
// +inf if there is no path, or none that comes near the best cells of the lines: what a path lacks
// to them is rounded to a multiple of the distance, and the chart is exact there.
//
// Sums are numbers w 2^e with an exponent of their own, so that neither many paths nor scores of
// any size overflow. The best score of each line is subtracted from it.
class PathLines {
  public:
    double sum(const double* scores, int64_t rows, int64_t columns, int64_t padded_rows,
               int64_t padded_columns, const StepSet& steps, bool by_rows, double* marginals);

  private:
    int64_t stride_ = 0;  // entries of a line, with kReach before and after it
    std::vector<double> factor_, scale_;           // of each cell: exp(score)
    std::vector<double> before_, before_exponent_;  // paths to each cell, with it
    std::vector<double> after_, after_exponent_;    // paths from a cell on, with it; two lines
    std::vector<double> rest_, rest_exponent_;      // without it
    std::vector<double> closed_;                    // (steps, stride) 0, or kClosed: no such step
};

}  // namespace sparsewood
