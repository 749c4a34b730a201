// Binary trees over spans: the inside algorithm (Baker 1979),
//
//     inside(i, j) = span(i, j) sum_m  inside(i, m) inside(m + 1, j)
//
// in a table with row i for the spans from i, right of the diagonal, and row j for those to j.
#pragma once

#include "sums/chart.h"

namespace sparsewood {

struct BinarySpans {
    int64_t parts, cells, goal;
    double log_count;
    int used, labels;
    int words, padded;

    // size: (n); shape: (N, N, L).
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape) {
        words = static_cast<int>(size[0]);
        padded = static_cast<int>(shape[0]);
        labels = static_cast<int>(shape[2]);
        used = 2 * words - 1;
        parts = int64_t(words) * words;
        cells = 2 * parts;
        goal = at(0, words - 1);
        log_count = 1.39 * words;  // Catalan(n - 1) < 4^n
    }

    template <class G, class F>
    SPARSEWOOD_HD void each_part(const G& g, F f) const {
        for (int64_t i = 0; i < words; ++i)
            for (int64_t j = i + g.lane(); j < words; j += g.size())
                f(i * words + j, i * padded + j);
    }

    template <bool Back, class F>
    SPARSEWOOD_HD void each_node(F f) const {
        for (int step = 0; step < words; ++step) {
            int width = Back ? words - 1 - step : step;
            for (int i = 0; i + width < words; ++i) {
                int j = i + width;
                Head head{at(i, j), int64_t(width) * (words - 1), width > 0 ? 2 : 1,
                          int64_t(i) * words + j};
                f(Node{at(i, i), at(j, i + 1), width, 1, {head, {}}});
            }
        }
    }

  private:
    SPARSEWOOD_HD int64_t at(int row, int column) const {
        return parts + int64_t(row) * words + column;
    }
};

}  // namespace sparsewood
