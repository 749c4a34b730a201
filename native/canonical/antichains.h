// The facets of alignments with gaps: an alignment is a chain of cells that increase in both
// sequences, and has at most one in common with any antichain. Comparability graphs are perfect:
// with cells of no negative mass that is all there is to say (Lovasz 1972).
//
// The largest antichains are the paths from the first member of one sequence and the last of the
// other, a step at a time, to the last and the first.
#pragma once

#include <set>

#include "canonical/facets.h"
#include "families/alignment.h"

namespace sparsewood {

template <>
class Facets<GappedAlignment> : public AllPenalised {
  public:
    static constexpr bool kKnown = true;
    static constexpr bool kEmpty = true;

    void begin(GappedAlignment& family, const double*, Pool& pool) {
        rows_ = family.slots;
        width_ = family.width;
        add_above(1 - Pool::kZero, pool);
    }

    bool separate(Pool& pool) { return add_above(pool.mass + Pool::kViolated, pool); }

  private:
    int rows_, width_;                           // column 0 is that of the empty cells
    List<double> mass_, before_, after_;  // (rows, width) of a cell, of the best path to it
    std::set<Bits> known_;                       // antichains, as cells of the pool

    int64_t at(int i, int j) const { return int64_t(i) * width_ + j; }

    // Adds the antichains through each cell that weigh most, where they weigh more than that.
    bool add_above(double least, Pool& pool) {
        weigh(pool);
        size_t before = pool.facets.size();
        for (int c = 0; c < pool.count(); ++c) {
            int cell = pool.live[c], i = cell / width_, j = cell % width_;
            if (j == 0 || before_[at(i, j)] + after_[at(i, j)] - mass_[at(i, j)] <= least) continue;
            List<char> inside = through(i, j);
            pool.add(1, -1, [&](int other) { return inside[pool.live[other]] != 0; });
            if (!known_.insert(pool.facets.back().cells).second) pool.facets.pop_back();
        }
        return pool.facets.size() > before;
    }

    // Paths go down the rows and back along the columns.
    void weigh(const Pool& pool) {
        mass_.assign(at(rows_, 0), 0.0);
        before_ = after_ = mass_;
        for (int c = 0; c < pool.count(); ++c) mass_[pool.live[c]] = pool.residual[c];
        for (int i = 0; i < rows_; ++i)
            for (int j = width_ - 1; j > 0; --j)
                before_[at(i, j)] = mass_[at(i, j)] + std::max(before(i - 1, j), before(i, j + 1));
        for (int i = rows_ - 1; i >= 0; --i)
            for (int j = 1; j < width_; ++j)
                after_[at(i, j)] = mass_[at(i, j)] + std::max(after(i + 1, j), after(i, j - 1));
    }

    double before(int i, int j) const { return i < 0 || j == width_ ? 0 : before_[at(i, j)]; }
    double after(int i, int j) const { return i == rows_ || j == 0 ? 0 : after_[at(i, j)]; }

    List<char> through(int i, int j) const {
        List<char> inside(at(rows_, 0), 0);
        for (int r = i, c = j; r >= 0 && c < width_;) {
            inside[at(r, c)] = 1;
            before(r - 1, c) > before(r, c + 1) ? --r : ++c;
        }
        for (int r = i, c = j; r < rows_ && c > 0;) {
            inside[at(r, c)] = 1;
            after(r + 1, c) > after(r, c - 1) ? ++r : --c;
        }
        return inside;
    }
};

}  // namespace sparsewood
