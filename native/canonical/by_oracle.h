// Canonical weights of any family, using only its MAP oracle: the simplex method with columns from
// the oracle (column generation, Dantzig & Wolfe 1960).
//
// Let h1 be the structure that maximises w on the face of u = M q. It gets the largest weight of
// any q >= 0 with M q = u. The structures S with weight are a basis of this linear program: the
// others of the face are affine combinations of them, in which h1 has the coefficient
//
//     phi(h) = <M_S z, h> + 1^T z,   z = K^-1 e_h1,   K = M_S^T M_S + 1 1^T.
//
// A structure of the face with phi < 0 replaces another one in S, and h1 gains weight; if there is
// none, the weight of h1 is maximal. h1 is then removed, and the next face is the old one
// intersected with phi = 0.
//
// A face is represented in two ways: its structures use only parts with mass, and `slack`, scores
// by cell, attain their minimum over such structures exactly on it. The first slack is that of
// SparseMAP, u - theta. A face that is too large is harmless: structures outside the smallest one
// get no weight.
//
// If some parts carry no penalty, M q = u is required only of the others, whose marginals are
// unique; all structures of the first face are optimal.
#pragma once

#include <algorithm>
#include <utility>

#include "canonical/decomposition.h"
#include "group/block.h"
#include "group/list.h"
#include "solver/solver.h"

namespace sparsewood {

template <class Family>
class ByOracle {
  public:
    // w: (cells) of the table.
    ByOracle(Solver<Family>& solver, const double* w, Decomposition& out)
        : family_(solver.family()), w_(w), out_(out), set_(solver.set) {
        int64_t count = cells(family_);
        mass_.resize(count), slack_.resize(count), phi_.resize(count), table_.resize(count);
        best_.resize(set_.codes.stride);
        asked_.resize(set_.codes.stride);
        for (int64_t c = 0; c < count; ++c) slack_[c] = -solver.reduced[c] / solver.range;
        most_ = kStructures * (set_.size() + set_.codes.slots);
        questions_ = kQuestions * (set_.size() + set_.codes.slots);
        make_room();
    }

    // False if rounding or degeneracy prevents success.
    bool run() {
        drop_light();
        while (set_.size() > 1) {
            weigh_cells();
            if (!find_best() || !enter(best_) || !maximise()) return false;
            take_out(find(best_));
        }
        if (set_.size() == 1) take_out(0);
        return true;
    }

  private:
    using Code = List<int16_t>;  // (stride)

    static constexpr double kLight = 1e-13;     // weights at or below it are rounding
    static constexpr double kNegative = -1e-9;  // phi at or above it is not negative
    static constexpr double kDirection = 1e-7;  // coefficients at or below it are rounding
    static constexpr double kNear = 1e-6;       // distances from a hull, per |d|: rounding
    static constexpr double kFar = 0.1;         // larger distances are not rounding
    static constexpr double kOnFace = 1e-11;    // smaller relative slack is rounding
    static constexpr double kDoubtful = 1e-6;   // below this slack the affine hull decides
    static constexpr double kRaise = 1.25;      // factor above the price that would just suffice
    static constexpr int kRaises = 40;          // maximum increases of the price per oracle call
    // Limits for degenerate problems, on oracle calls and structures in the basis: per slot and per
    // structure of the solver.
    static constexpr int kQuestions = 60, kStructures = 6;

    Family& family_;
    const double* w_;
    Decomposition& out_;
    Thread g_;
    ActiveSet<Family> set_;  // the basis: the remaining q
    Block memory_;
    List<double> mass_;   // (cells) M q, including empty options; 1 without penalty
    List<double> slack_;  // (cells)
    List<double> phi_;    // (cells) M_S z: phi up to a constant
    List<double> table_;  // (cells) the scores for the oracle
    Code best_, asked_;          // h1; the oracle's answer
    int questions_, most_;       // left; structures in the basis
    double largest_ = 1;         // of the slack of parts with mass, in size; at least 1
    double price_ = 0;           // of slack, in units of phi
    double best_price_ = 0;      // in units of w

    // Moves the basis to memory with more capacity.
    void make_room() {
        ActiveSet<Family> from = set_;
        int room = from.codes.capacity + from.size() + 8;
        Arena measure{nullptr};
        set_.lay_out_active(measure, room);
        Block larger;
        Arena arena{larger.reserve(measure.used)};
        set_.lay_out_active(arena, room);
        set_.copy(g_, from);
        memory_ = std::move(larger);
    }

    int64_t cell(const int16_t* h, int slot) const { return set_.codes.base[slot] + h[slot]; }

    // <scores, h - structure a>
    double above(const double* scores, const int16_t* h, int a) const {
        return set_.codes.score_above(scores, h, set_.codes.code(a));
    }

    int find(const Code& h) const {
        int a = set_.size() - 1;
        while (a >= 0 && !std::equal(h.begin(), h.begin() + set_.codes.slots, set_.codes.code(a)))
            --a;
        return a;
    }

    void drop_light() {
        for (int a = 0; a < set_.size(); ++a)
            set_.target[a] = set_.weights[a] > kLight ? set_.weights[a] : 0;
        set_.drop_negative(g_);
    }

    void take_out(int a) {
        if (set_.weights[a] > kLight) {
            const int16_t* h = set_.codes.code(a);
            out_.codes.insert(out_.codes.end(), h, h + set_.codes.stride);
            out_.weights.push_back(set_.weights[a]);
        }
        set_.weights[a] = 0;
        drop_light();
    }

    void weigh_cells() {
        for (size_t c = 0; c < mass_.size(); ++c)
            mass_[c] = !is_penalised(family_, int64_t(c)) && slack_[c] != -kForbidden;
        for (int a = 0; a < set_.size(); ++a)
            for (int i = 0; i < family_.penalised; ++i)
                mass_[cell(set_.codes.code(a), i)] += set_.weights[a];
        largest_ = 1;
        for (size_t c = 0; c < mass_.size(); ++c)
            if (mass_[c] > 0) largest_ = std::max(largest_, std::fabs(slack_[c]));
    }

    // The best structure that uses only parts with mass, for scores minus price times slack.
    bool ask(const double* scores, double sign, double price) {
        g_.poll();
        if (--questions_ < 0 || set_.size() > most_) return false;
        for (size_t c = 0; c < mass_.size(); ++c)
            table_[c] = mass_[c] > 0 ? sign * scores[c] - price * slack_[c] : kForbidden;
        ++out_.calls;
        return family_(g_, table_.data(), asked_.data());
    }

    // Whether asked_ is on the face. Its slack may be rounding, unless it is outside the affine
    // hull of the basis.
    bool on_face(double slack) {
        if (slack <= kOnFace * largest_) return true;
        if (slack > kDoubtful * largest_) return false;
        if (append(asked_) != Entry::kEntered) return true;
        --set_.factor.size;
        return false;
    }

    // best_ <- the structure of the face that maximises w.
    bool find_best() {
        double most = 0;
        for (int a = 1; a < set_.size(); ++a)
            most = std::max(most, above(w_, set_.codes.code(a), 0));
        for (int raises = 0; raises < kRaises; ++raises) {
            if (!ask(w_, 1, best_price_)) return false;
            double slack = above(slack_.data(), asked_.data(), 0);
            if (on_face(slack)) {
                best_ = asked_;
                return true;
            }
            double more = above(w_, asked_.data(), 0) - most;
            best_price_ = kRaise * std::max(best_price_, more / slack);
        }
        return false;
    }

    // Maximises the weight of best_, which is in the basis.
    bool maximise() {
        double most = -kForbidden;
        for (int i = 0; i < family_.penalised; ++i)
            most = std::min(most, mass_[cell(best_.data(), i)]);
        while (true) {
            int at = find(best_);
            if (at < 0) return false;
            if (set_.size() == 1 || set_.weights[at] >= most - kLight) return true;
            find_phi(at);
            double lowest;
            if (!find_lowest(at == 0 ? 1 : 0, lowest)) return false;
            if (lowest >= kNegative) {
                cut();
                return true;
            }
            if (!enter(asked_)) return false;
        }
    }

    void find_phi(int at) {
        int k = set_.size();
        double* z = set_.target;
        for (int a = 0; a < k; ++a) z[a] = a == at;
        forward(g_, set_.factor.rows, k, z, at);
        backward(g_, set_.factor.rows, k, z);
        std::fill(phi_.begin(), phi_.end(), 0.0);
        for (int a = 0; a < k; ++a) {
            const int16_t* h = set_.codes.code(a);
            for (int i = 0; i < family_.penalised; ++i)
                if (!Family::kEmpty || h[i] != 0) phi_[cell(h, i)] += z[a];
        }
    }

    // asked_ <- the structure of the face with the lowest phi; phi is 0 for number `other`.
    bool find_lowest(int other, double& lowest) {
        for (int raises = 0; raises < kRaises; ++raises) {
            if (!ask(phi_.data(), -1, price_)) return false;
            lowest = above(phi_.data(), asked_.data(), other);
            double slack = above(slack_.data(), asked_.data(), other);
            if (lowest >= kNegative || on_face(slack)) return true;
            price_ = kRaise * std::max(price_, -lowest / slack);
        }
        return false;
    }

    // Adds phi to the slack: phi + price * slack is never negative, so it is 0 only on the next
    // face.
    void cut() {
        for (size_t c = 0; c < slack_.size(); ++c) slack_[c] = phi_[c] + (1 + price_) * slack_[c];
        best_price_ /= 1 + price_;
        price_ = 0;
    }

    // As in ActiveSet, but structures within rounding of the affine hull count as dependent; the
    // tolerance grows with their coefficients.
    Entry append(const Code& h) {
        if (set_.size() + 3 > set_.codes.capacity) make_room();
        int k = set_.size();
        Entry entry = set_.append(g_, h.data());
        if (entry != Entry::kEntered) return entry;
        double far = 1 / set_.factor.row(k)[k], size = 1;
        if (far > kFar) return entry;
        double* d = set_.target;
        std::copy(set_.factor.row(k), set_.factor.row(k) + k, d);
        backward(g_, set_.factor.rows, k, d);
        for (int a = 0; a < k; ++a) size += d[a] * d[a];
        if (far > kNear * std::sqrt(size)) return entry;
        --set_.factor.size;
        return Entry::kDependent;
    }

    // Adds h to the basis, with weight 0 if it does not replace a structure.
    bool enter(const Code& h) { return append(h) != Entry::kDependent || pivot(h); }

    // Call after append found m_h = sum_a d_a m_a: weights move along (-d, 1), which leaves u
    // unchanged, until the first one is zero. Ties go to the largest d.
    bool pivot(const Code& h) {
        int k = set_.size(), first = -1;
        double *d = set_.target, *q = set_.weights, length = -kForbidden;
        std::copy(set_.factor.row(k), set_.factor.row(k) + k, d);
        backward(g_, set_.factor.rows, k, d);
        for (int a = 0; a < k; ++a)
            if (d[a] > kDirection) length = std::min(length, (q[a] + kLight) / d[a]);
        for (int a = 0; a < k; ++a)
            if (d[a] > kDirection && q[a] <= length * d[a] && (first < 0 || d[a] > d[first]))
                first = a;
        if (first < 0) return false;
        length = q[first] / d[first];
        for (int a = 0; a < k; ++a) q[a] = std::max(0.0, q[a] - length * d[a]);
        for (int a = 0; a < k; ++a) d[a] = a != first;
        set_.drop_negative(g_);
        if (set_.append(g_, h.data()) != Entry::kEntered) return false;
        set_.weights[k - 1] = length;
        return true;
    }
};

// The canonical decomposition of the solver's solution. False: not found.
template <class Family>
bool decompose_by_oracle(Solver<Family>& solver, const double* w, Decomposition& out) {
    return ByOracle<Family>(solver, w, out).run();
}

}  // namespace sparsewood
