// Canonical weights of any family by its MAP oracle alone: the simplex method, its columns from the
// oracle (column generation, Dantzig & Wolfe 1960).
//
// With u = M q over the active structures S, the structure h1 that w likes best on the face of u
// gets the largest weight that any q' >= 0 with M q' = u gives it. S is a basis of that linear
// program: all structures of the face are affine combinations of S, and
//
//     phi(h) = the coefficient of h1 in that combination = <M_S z, h> + 1^T z,   z = K^-1 e_h1,
//
// with K = M_S^T M_S + 1 1^T. A structure of the face with phi < 0 takes the place of another in S
// and h1 gains; where there is none, the weight of h1 is the largest possible. It is then
// subtracted, and the face of what is left is the old one cut by phi = 0.
//
// Faces are kept in two ways: parts that no structure of S uses are forbidden, and `slack`, a
// score for each cell, is minimal exactly on the face. A face that is too large costs time only: a
// structure that is not on the smallest one gets weight 0.
#pragma once

#include <algorithm>
#include <memory>

#include "pulled.h"
#include "solver.h"

namespace sparsewood {

template <class Family>
class Puller {
  public:
    Puller(Solver<Family>& solver, const double* weights, Pulled& to)
        : solver_(solver), w_(weights), out_(to), set_(solver.set) {
        size_t count = static_cast<size_t>(cells(solver.family()));
        mass_.resize(count), slack_.resize(count), table_.resize(count), phi_.resize(count);
        best_.resize(static_cast<size_t>(set_.codes.stride), 0);
        asked_.resize(static_cast<size_t>(set_.codes.stride), 0);
        for (size_t c = 0; c < count; ++c) slack_[c] = -solver.reduced[c] / solver.range;
        make_room(solver.set);
    }

    // False when the structures of a stage do not come to an end.
    bool run() {
        drop_light();
        while (set_.size() > 1) {
            weigh_cells();
            if (!find_best() || !enter(best_.data()) || !maximise()) return false;
            keep();
        }
        if (set_.size() == 1) store(0);
        return true;
    }

  private:
    static constexpr double kLight = 1e-13;    // weights at or below it are rounding
    static constexpr double kRounding = 1e-14;  // slack below this share of the largest is none
    static constexpr double kDoubtful = 1e-6;   // and below this one may be
    static constexpr double kRaise = 1.25;
    static constexpr double kNear = 1e-4;  // the distance from an affine hull that is rounding
    static constexpr double kNegative = 1e-9;  // phi above minus it is not negative
    static constexpr int kRaises = 40;         // of the price of slack, for one question
    static constexpr int kPivots = 50;         // a stage, for each structure in the basis

    Solver<Family>& solver_;
    const double* w_;  // (cells)
    Pulled& out_;
    ActiveSet<Family> set_;     // the basis: what is left of q
    std::unique_ptr<char[]> memory_;  // of it
    std::vector<double> mass_;  // (cells) M q, the cells of empty options as well
    std::vector<double> slack_, table_, phi_, z_;
    std::vector<int16_t> best_, asked_;  // (stride)
    double largest_ = 0;  // slack of a part, in size
    double price_ = 0;                   // of slack, against phi
    Thread g_;

    // Moves the basis to memory with room for more.
    void make_room(const ActiveSet<Family>& from) {
        int room = from.codes.capacity + from.size() + 8;
        ActiveSet<Family> larger = from;
        Arena measure{nullptr};
        larger.lay_out_active(measure, room);
        std::unique_ptr<char[]> memory(new char[static_cast<size_t>(measure.used) + 64]);
        auto address = reinterpret_cast<uintptr_t>(memory.get());
        Arena arena{reinterpret_cast<char*>((address + 63) / 64 * 64)};
        larger.lay_out_active(arena, room);
        larger.copy(g_, from);
        set_ = larger;
        memory_.swap(memory);
    }

    void drop_light() {
        for (int a = 0; a < set_.size(); ++a)
            set_.target[a] = set_.weights[a] > kLight ? set_.weights[a] : 0;
        set_.drop_negative(g_);
    }

    int64_t cell(const int16_t* h, int slot) const { return set_.codes.base[slot] + h[slot]; }

    void weigh_cells() {
        std::fill(mass_.begin(), mass_.end(), 0.0);
        price_ = largest_ = 0;
        for (int a = 0; a < set_.size(); ++a)
            for (int i = 0; i < set_.codes.slots; ++i)
                mass_[cell(set_.codes.code(a), i)] += set_.weights[a];
        for (size_t c = 0; c < mass_.size(); ++c)
            if (mass_[c] > 0) largest_ = std::max(largest_, std::fabs(slack_[c]));
        if (getenv("DIAG")) fprintf(stderr, " stage %d largest %g\n", out_.size(), largest_);
    }

    // The oracle's structure for scores given by cell, without parts that have no mass.
    template <class Score>
    bool ask(Score score) {
        for (size_t c = 0; c < mass_.size(); ++c)
            table_[c] = mass_[c] > 0 ? score(c) : kForbidden;
        ++out_.calls;
        return solver_.family()(g_, table_.data(), asked_.data());
    }

    double above(const std::vector<double>& scores, const int16_t* h, int a) const {
        return set_.codes.score_above(scores.data(), h, set_.codes.code(a));
    }

    // Whether the structure that was asked for is on the face. What little slack it seems to have
    // may be rounding: in the affine hull of the basis there is none.
    bool on_face(double slack) {
        if (slack <= kRounding * largest_) return true;
        if (slack > kDoubtful * largest_ || append(asked_.data()) != Entry::kEntered)
            return slack <= kDoubtful * largest_;
        --set_.factor.size;
        return false;
    }

    // The structure of the face that w likes best. The first question has integers alone.
    bool find_best() {
        double most = 0, price = 0;
        for (int a = 1; a < set_.size(); ++a)
            most = std::max(most, set_.codes.score_above(w_, set_.codes.code(a), set_.codes.code(0)));
        for (int raises = 0; raises < kRaises; ++raises) {
            g_.poll();
            if (!ask([&](size_t c) { return w_[c] - price * slack_[c]; })) return false;
            double slack = above(slack_, asked_.data(), 0);
            if (on_face(slack)) {
                best_ = asked_;
                return true;
            }
            double more = set_.codes.score_above(w_, asked_.data(), set_.codes.code(0)) - most;
            price = kRaise * std::max(price, more / slack);
        }
        return false;
    }

    int find(const int16_t* h) const {
        for (int a = set_.size() - 1; a >= 0; --a)
            if (std::equal(h, h + set_.codes.slots, set_.codes.code(a))) return a;
        return -1;
    }

    Entry append(const int16_t* h) {
        if (set_.size() + 3 > set_.codes.capacity) make_room(set_);
        int k = set_.size();
        Entry entry = set_.append(g_, h);
        if (entry != Entry::kEntered || set_.factor.row(k)[k] < 1 / kNear) return entry;
        --set_.factor.size;
        return Entry::kDependent;
    }

    // Takes h into the basis, if it is not there. False when rounding forbids it.
    bool enter(const int16_t* h) {
        int before = set_.size();
        if (append(h) != Entry::kDependent) return true;
        set_.pivot(g_, h);
        return set_.size() == before;
    }

    // Gives best_ the largest weight that it can have on the face.
    bool maximise() {
        double most = -kForbidden;
        for (int i = 0; i < set_.codes.slots; ++i)
            most = std::min(most, mass_[cell(best_.data(), i)]);
        int64_t pivots = int64_t(kPivots) * (set_.size() + 1);
        for (; pivots > 0; --pivots) {
            g_.poll();
            int at = find(best_.data());
            if (at < 0) return false;
            if (set_.size() == 1 || set_.weights[at] >= most - kLight) return true;
            find_phi(at);
            int other = at == 0 ? 1 : 0;
            double lowest;
            if (!find_lowest(other, lowest)) return false;
            if (lowest >= -kNegative) {
                if (getenv("DIAG")) fprintf(stderr, "  cut stage %d k %d price %g weight %g lowest %g\n", out_.size(), set_.size(), price_, set_.weights[at], lowest);
            cut();
                return true;
            }
            if (!enter(asked_.data())) return false;
            if (getenv("DIAG")) fprintf(stderr, "  pivot stage %d k %d at %d lowest %g weight %g\n", out_.size(), set_.size(), at, lowest, find(best_.data()) >= 0 ? set_.weights[find(best_.data())] : -1);
        }
        return false;
    }

    // phi_ <- M_S K^-1 e_at, by cell: phi but for a constant.
    void find_phi(int at) {
        int k = set_.size();
        z_.assign(static_cast<size_t>(k), 0.0);
        z_[static_cast<size_t>(at)] = 1;
        forward(g_, set_.factor.rows, k, z_.data(), 0);
        backward(g_, set_.factor.rows, k, z_.data());
        std::fill(phi_.begin(), phi_.end(), 0.0);
        for (int a = 0; a < k; ++a) {
            const int16_t* h = set_.codes.code(a);
            for (int i = 0; i < solver_.family().penalised; ++i)
                if (!Family::kEmpty || h[i] != 0) phi_[cell(h, i)] += z_[static_cast<size_t>(a)];
        }
    }

    // The structure of the face with the lowest phi, which is 0 at number `other`.
    bool find_lowest(int other, double& lowest) {
        for (int raises = 0; raises < kRaises; ++raises) {
            if (!ask([&](size_t c) { return -phi_[c] - price_ * slack_[c]; })) return false;
            lowest = above(phi_, asked_.data(), other);
            double slack = above(slack_, asked_.data(), other);
            if (lowest >= -kNegative || on_face(slack)) return true;
            if (getenv("DIAG")) fprintf(stderr, "  low stage %d k %d price %g lowest %g slack %g\n", out_.size(), set_.size(), price_, lowest, slack);
            price_ = kRaise * std::max(price_, -lowest / slack);
        }
        return false;
    }

    // The next face is where phi is 0 as well.
    void cut() {
        for (size_t c = 0; c < slack_.size(); ++c)
            slack_[c] = phi_[c] + (1 + price_) * slack_[c];
    }

    void store(int a) {
        const int16_t* h = set_.codes.code(a);
        out_.codes.insert(out_.codes.end(), h, h + set_.codes.stride);
        out_.weights.push_back(set_.weights[a]);
    }

    // Keeps best_ with its weight, and goes on with the others.
    void keep() {
        int at = find(best_.data());
        if (set_.weights[at] > kLight) store(at);
        set_.weights[at] = 0;
        drop_light();
    }
};

// The canonical decomposition of what the solver found. False: it was not reached.
template <class Family>
bool pull(Solver<Family>& solver, const double* w, Pulled& out) {
    return Puller<Family>(solver, w, out).run();
}

}  // namespace sparsewood
