// Sets of pairs of members of two sides, each member in at most one pair: the common base of
// matchings and alignments with gaps.
//
// The slots are the smaller side (the rows of the scores if both are equal), the options are
// members of the larger side. With Empty, option 0 leaves a member of the smaller side unmatched.
#pragma once

#include "families/family.h"

namespace sparsewood {

template <bool Empty>
struct Bipartite {
    static constexpr bool kEmpty = Empty;
    static constexpr double kCross = 1e-5;
    int slots, penalised, rows, width;
    bool transposed;  // the columns of the scores are the slots

    SPARSEWOOD_HD int64_t base(int slot) const { return int64_t(slot) * width; }

    SPARSEWOOD_HD void fix(double* table, int slot, int option) const {
        fix_row(table + base(slot), width, option);
    }

    // size, shape: rows and columns.
    SPARSEWOOD_HD void set_size(const int64_t* size, const int64_t* shape, const int64_t*) {
        transposed = size[0] > size[1];
        slots = penalised = rows = static_cast<int>(size[transposed ? 1 : 0]);
        width = static_cast<int>(size[transposed ? 0 : 1]) + kEmpty;
        padded_rows = shape[0];
        padded_columns = shape[1];
    }

    SPARSEWOOD_HD Row row(int r) const {
        return transposed ? Row{r, padded_columns, 0, 0} : Row{r * padded_columns, 1, 0, 0};
    }

    SPARSEWOOD_HD int64_t part(int slot, int option) const {
        if (kEmpty && option == 0) return -1;
        int64_t member = option - kEmpty;
        return transposed ? member * padded_columns + slot : slot * padded_columns + member;
    }

  protected:
    int64_t padded_rows, padded_columns;  // of the caller's array
};

}  // namespace sparsewood
