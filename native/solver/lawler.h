// The k best structures of a family that can fix the option of a slot (Murty 1968; Lawler 1972).
//
// The set of all structures except the best is partitioned by the first slot in which they differ
// from it: earlier slots keep their options, and the best option of this slot is excluded. One
// oracle call finds the best structure of each piece; the best of these is the next structure, and
// its piece is split in the same way.
//
// Serves families and sizes for which kbest.h knows nothing faster.
#pragma once

#include <queue>
#include <vector>

#include "families/family.h"

namespace sparsewood {

// A piece of the set of structures, and its best structure.
struct Piece {
    double score;
    std::vector<int16_t> code;
    int fixed;                    // number of slots that are fixed to the options of the code
    std::vector<int16_t> banned;  // options excluded for the next slot

    bool operator<(const Piece& other) const {  // ties go to the smaller code
        return score < other.score || (score == other.score && code > other.code);
    }
};

template <class Family>
class BestFirst {
  public:
    BestFirst(Family& family, const double* table)
        : family_(family), table_(table), copy_(static_cast<size_t>(cells(family))) {
        push(Piece{0, std::vector<int16_t>(static_cast<size_t>(family.slots)), 0, {}});
    }

    // The number of oracle calls.
    int64_t calls() const { return calls_; }

    // The next best structure; false if there is none left.
    bool next(std::vector<int16_t>& code) {
        if (started_) split();
        if (pieces_.empty()) return false;
        found_ = pieces_.top();
        pieces_.pop();
        code = found_.code;
        return started_ = true;
    }

  private:
    Family& family_;
    const double* table_;
    std::vector<double> copy_;
    std::priority_queue<Piece> pieces_;
    bool started_ = false;
    Piece found_;  // the last structure found; its piece is split on the next call
    int64_t calls_ = 0;

    void split() {
        for (int i = found_.fixed; i < family_.penalised; ++i) {
            Piece rest{0, found_.code, i, {}};
            if (i == found_.fixed) rest.banned = found_.banned;
            rest.banned.push_back(found_.code[static_cast<size_t>(i)]);
            push(std::move(rest));
        }
    }

    // Finds the best structure of a piece, and keeps the piece unless it is empty.
    void push(Piece piece) {
        poll();
        copy_.assign(table_, table_ + cells(family_));
        for (int i = 0; i < piece.fixed; ++i)
            family_.fix(copy_.data(), i, piece.code[static_cast<size_t>(i)]);
        for (int16_t option : piece.banned)
            copy_[static_cast<size_t>(family_.base(piece.fixed) + option)] = kForbidden;
        ++calls_;
        if (!family_(Thread{}, copy_.data(), piece.code.data())) return;
        piece.score = 0;
        for (int i = 0; i < family_.slots; ++i)
            piece.score += table_[family_.base(i) + piece.code[static_cast<size_t>(i)]];
        pieces_.push(std::move(piece));
    }
};

}  // namespace sparsewood
