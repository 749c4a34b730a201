// SparseMAP at increasing temperatures, from the MAP structure until too many structures remain.
//
// With s = given temperature / temperature, the weights on a fixed support are s a + b, where
//     a = J M^T theta,   b = K^-1 1 / (1^T K^-1 1)
// (jacobian.h), and a structure scores s A - B above the active ones. From s = infinity, where the
// MAP structure has all weight, s decreases until a weight reaches zero, whose structure leaves, or
// until another structure ties, which enters. The oracle, called at the lower end of a segment,
// returns a structure with an advantage; called where that one ties, another, until there is none:
// Newton's method on a convex function. inference/_path.py is the readable version, with proofs.
//
// Structures that the oracle returned before are checked first, as they often enter next.
#pragma once

#include <algorithm>
#include <vector>

#include "canonical/canonical.h"

namespace sparsewood {

enum class PathEnd {
    kReached,     // the given temperature
    kFull,        // one more structure would remain
    kTied,        // too many structures tie for the best score: they remain at any temperature
    kStalled,     // steps at one temperature cycle: it may not be the largest that suffices
    kNoStructure  // every structure uses a forbidden part
};

template <class Family>
class Path {
  public:
    Path(Solver<Family>& solver, int64_t most)
        : solver_(solver), set_(solver.set), codes_(solver.set.codes), most_(most) {
        s_ = top_ = std::max(std::min(kTop / solver.range, kMost), 2.0);
        for (std::vector<double>* table : {&slope_, &offset_})
            table->resize(static_cast<size_t>(cells(family())));
        tilt_.resize(slope_.size());
        for (size_t c = 0; c < tilt_.size(); ++c)
            tilt_[c] = Family::kEmpty && static_cast<int>(c) % family().width == 0
                           ? 0
                           : kTilt * fraction(static_cast<int64_t>(c));
    }

    // Follows the path to its end. grow(): enlarges the active set. solve_at(s, most): replaces it
    // by the SparseMAP support at s, with at most `most` structures if not 0; false: they did not
    // suffice.
    template <class Grow, class SolveAt>
    PathEnd run(Grow grow, SolveAt solve_at) {
        std::fill(solver_.entering + codes_.slots, solver_.entering + codes_.stride, int16_t{0});
        if (!ask(set_.theta, set_.origin)) return PathEnd::kNoStructure;
        set_.begin(g_);
        record({});
        int64_t limit = 1000 + 100 * static_cast<int64_t>(slope_.size());
        for (int64_t still = 0; limit > 0; --limit) {
            g_.poll();
            while (set_.size() + 3 > codes_.capacity) grow();
            double before = s_;
            Next next = step();
            if (next == Next::kEnd) return s_at_ <= 1 ? PathEnd::kReached : PathEnd::kFull;
            if (next == Next::kTooMany) return PathEnd::kTied;
            if (next == Next::kTies) {
                ties_ = true;
                if (!solve_at(top_, most_)) return PathEnd::kTied;
                std::fill(set_.factor.scores, set_.factor.scores + set_.size(), 0.0);
            }
            still = s_ >= before * (1 - kSame) ? still + 1 : 0;
            if (still <= 20 + 2 * set_.size()) continue;
            still = 0;
            s_ = std::max(s_ * (1 - kAhead), 1.0);
            if (++detours_ > kDetours || !solve_at(s_, 0)) break;
            if (full()) return PathEnd::kFull;
            record({});
            if (s_ <= 1) return PathEnd::kReached;
        }
        return PathEnd::kStalled;
    }

    double s() const { return s_at_; }
    const Decomposition& found() const { return found_; }            // the support there
    const std::vector<int16_t>& tie() const { return tie_; }  // what ties there; empty: none

  private:
    enum class Next { kOn, kTies, kTooMany, kEnd };
    using Code = std::vector<int16_t>;

    static constexpr double kTop = 1e10;    // structures that tie at range / kTop count as tied
    static constexpr double kMost = 1e60;   // bound on s that avoids overflow
    static constexpr double kTilt = 1e-12;  // breaks ties between structures
    static constexpr double kZero = 1e-13;  // a weight or an advantage below this is rounding
    static constexpr double kHint = 1e-9;   // least advantage of a remembered structure
    static constexpr double kSame = 1e-10;  // relative distance at which breakpoints are equal
    static constexpr double kNegative = 1e-9;  // a weight below minus this is a missed breakpoint
    static constexpr double kAhead = 1e-6;     // relative step past a point where steps cycle
    static constexpr int kDetours = 20, kQuestions = 1000;
    static constexpr size_t kPool = 64;

    Solver<Family>& solver_;
    ActiveSet<Family>& set_;
    Codes<Family>& codes_;
    int64_t most_;
    Thread g_;
    double s_, top_, s_at_ = 0;
    bool ties_ = false;  // several structures tie for the best score
    int detours_ = 0;
    std::vector<double> a_, b_, residual_;
    std::vector<double> slope_, offset_;  // (cells) theta - D M a and D M b
    std::vector<double> tilt_;            // (cells)
    std::vector<Code> pool_;              // structures from the oracle that did not enter, or left
    Code banned_;                         // has an advantage only by rounding
    Decomposition found_;
    Code tie_;

    Family& family() { return solver_.family(); }
    bool full() const { return set_.size() > most_; }

    bool ask(const double* table, int16_t* code) {
        ++solver_.calls;
        return family()(g_, table, code);
    }

    // Finds the end of the segment, and the structure that enters or leaves there.
    Next step() {
        lines();
        int k = set_.size(), leaving = -1;
        double low = 0, end = 0;
        for (int i = 0; i < k; ++i) {
            double a = a_[size_t(i)], b = b_[size_t(i)];
            low = std::min(low, set_.target[i] = s_ * a + b);
            if (a > 0 && (leaving < 0 || -b / a > end)) end = -b / a, leaving = i;
        }
        if (low < -kNegative) {
            set_.walk(g_);
            return Next::kOn;
        }
        end = leaving < 0 ? 0 : std::min(end, s_);
        if (full() && end < s_ * (1 - kSame)) return Next::kEnd;
        end = std::max(end, 1.0);
        Code newcomer = first_of_pool(end);
        for (int question = 0; question < kQuestions && end < s_; ++question) {
            for (size_t c = 0; c < slope_.size(); ++c)
                solver_.reduced[c] =
                    end * slope_[c] - offset_[c] + (1 + end * solver_.range) * tilt_[c];
            ask(solver_.reduced, solver_.entering);
            Code best(solver_.entering, solver_.entering + codes_.stride);
            double at = end;
            if (best == banned_ || !above(best, at)) break;
            remember(best);
            newcomer = std::move(best);
            if (!(at > end)) break;
            end = at;
        }
        bool at_top = end >= top_;
        s_ = end;
        for (int i = 0; i < k; ++i)
            set_.weights[i] = std::max(0.0, s_ * a_[size_t(i)] + b_[size_t(i)]);
        if (!full()) record(end > 1 ? newcomer : Code());
        if (end <= 1) return Next::kEnd;
        if (newcomer.empty()) {
            remember(Code(codes_.code(leaving), codes_.code(leaving) + codes_.stride));
            set_.leave(g_, leaving);
            banned_.clear();
        } else if (at_top && !ties_) {
            return Next::kTies;
        } else {
            enter(newcomer, at_top);
            if (at_top && full()) return Next::kTooMany;
        }
        return Next::kOn;
    }

    void enter(const Code& newcomer, bool at_top) {
        if (set_.append(g_, newcomer.data()) != Entry::kEntered) {
            banned_ = newcomer;
            return;
        }
        if (at_top) set_.factor.scores[set_.size() - 1] = 0;
        forget(newcomer);
        banned_.clear();
    }

    // Computes a, b, and their tables of potentials.
    void lines() {
        const Cholesky& f = set_.factor;
        int k = f.size;
        double one = 0, both = 0;
        for (int i = 0; i < k; ++i) one += f.ones[i] * f.ones[i], both += f.ones[i] * f.scores[i];
        a_.resize(size_t(k)), b_.resize(size_t(k)), residual_.resize(size_t(k));
        for (int i = 0; i < k; ++i) {
            a_[size_t(i)] = f.scores[i] - both / one * f.ones[i];
            b_[size_t(i)] = f.ones[i] / one;
        }
        backward(g_, f.rows, k, a_.data());
        backward(g_, f.rows, k, b_.data());
        tables();
        if (s_ >= top_) return;  // tied scores are treated as equal
        refine(a_, slope_, 1);
        refine(b_, offset_, -1);
        tables();
    }

    // One step of iterative refinement: active structures should have equal scores.
    void refine(std::vector<double>& x, const std::vector<double>& table, double sign) {
        for (int i = 0; i < set_.size(); ++i)
            residual_[size_t(i)] =
                sign * codes_.score_above(table.data(), codes_.code(i), codes_.code(0));
        set_.factor.jacobian(g_, residual_.data());
        for (size_t i = 0; i < x.size(); ++i) x[i] += residual_[i];
    }

    void tables() {
        std::copy(set_.theta, set_.theta + slope_.size(), slope_.begin());
        std::fill(offset_.begin(), offset_.end(), 0.0);
        for (int i = 0; i < set_.size(); ++i) {
            const int16_t* h = codes_.code(i);
            for (int slot = 0; slot < family().penalised; ++slot) {
                if (Family::kEmpty && h[slot] == 0) continue;
                size_t c = size_t(codes_.base[slot] + h[slot]);
                slope_[c] -= a_[size_t(i)];
                offset_[c] += b_[size_t(i)];
            }
        }
    }

    // Whether h scores above the active structures at `s` by more than rounding; then `s` is set to
    // where it ties with them.
    bool above(const Code& h, double& s, double least = kZero) {
        double rise = codes_.score_above(slope_.data(), h.data(), codes_.code(0));
        double fixed = codes_.score_above(offset_.data(), h.data(), codes_.code(0)), size = 1;
        for (int i = 0; i < codes_.slots; ++i) {
            int32_t c = codes_.base[i] + h[size_t(i)];
            size += std::fabs(s * slope_[size_t(c)] - offset_[size_t(c)]);
        }
        if (!(s * rise - fixed > std::max(8 * kEpsilon * size, least))) return false;
        s = rise < 0 ? std::max(s, std::min(fixed / rise, s_)) : s_;
        return true;
    }

    // The structure of the pool that ties first, if one does before `end`, which is moved there;
    // ties go to the oldest. Structures that tie at the beginning of the segment are left to the
    // oracle, which finds the best of them.
    Code first_of_pool(double& end) {
        const Code* first = nullptr;
        for (const Code& h : pool_) {
            double at = end;
            if (h == banned_ || !above(h, at, kHint)) continue;
            if (at > end * (1 + kSame) && at < s_ * (1 - kSame)) end = at, first = &h;
        }
        return first == nullptr ? Code() : *first;
    }

    void remember(const Code& h) {
        forget(h);
        if (pool_.size() == kPool) pool_.erase(pool_.begin());
        pool_.push_back(h);
    }

    void forget(const Code& h) {
        pool_.erase(std::remove(pool_.begin(), pool_.end(), h), pool_.end());
    }

    // Records the support at s.
    void record(const Code& tie) {
        found_ = {{}, {}, 0};
        for (int i = 0; i < set_.size(); ++i)
            if (set_.weights[i] > kZero) {
                const int16_t* h = codes_.code(i);
                found_.codes.insert(found_.codes.end(), h, h + codes_.stride);
                found_.weights.push_back(set_.weights[i]);
            }
        s_at_ = s_;
        tie_ = tie;
    }
};

}  // namespace sparsewood
