// Canonical weights of a family whose facets are known: the pulling triangulation.
//
// What is left of the marginals loses, again and again, as much as it can of the structure that
// fixed integers like best among those on the smallest face. Such a structure uses only cells that
// have mass left, and keeps every tight inequality with equality: a violation costs more than all
// integers together, so that one call of the oracle, exact, finds it. It is taken until a cell or an
// inequality becomes tight.
//
// An inequality that is not in the pool lets a step be too long. What is left then is outside the
// polytope, and never comes to an end: to reach mass 0 proves every step. Where it does not, the
// missing inequality is looked for, and all steps from the first that violates it are taken back.
#pragma once

#include "pulled.h"
#include "simple_facets.h"
#include "antichains.h"
#include "spanning_facets.h"
#include "tree_cuts.h"

namespace sparsewood {

template <class Family>
class Peel {
  public:
    Peel(Family& family, const ActiveSet<Family>& set, const double* w)
        : family_(family),
          stride_(static_cast<size_t>(set.codes.stride)),
          parts_(most_parts(family)),
          w_(w),
          index_(static_cast<size_t>(cells(family)), -1),
          table_(index_.size()) {
        read(set);
        facets_.begin(family, set, pool_);
        replay(0);
        calls_ = 0;
    }

    // False: a violated inequality is missing, or scores are too large to be exact.
    bool run() {
        bool verify = false;
        for (int repairs = 0; pool_.mass > kDone && exact_ && repairs < kRepairs;) {
            bool taken = take();
            size_t known = pool_.facets.size();
            if (taken && !(verify && facets_.separate(pool_))) {
                verify = false;
                continue;
            }
            if (!taken && !facets_.separate(pool_)) return false;
            replay(first_violation(known));
            verify = true;
            ++repairs;
        }
        return pool_.mass <= kDone;
    }

    void write(Pulled& out) const {
        for (const Step& step : steps_) {
            if (step.weight <= Pool::kZero) continue;
            out.codes.insert(out.codes.end(), step.code.begin(), step.code.end());
            out.weights.push_back(step.weight);
        }
    }

    int calls() const { return calls_; }

  private:
    static constexpr double kDone = 1e-11;  // of the mass; rounding and small weights left out
    static constexpr int kRepairs = 1000;
    static constexpr double kExact = 9007199254740992.0;  // integers up to it are float64s

    struct Step {
        std::vector<int16_t> code;  // (stride)
        std::vector<int32_t> used;  // numbers of its live cells
        Bits cells;                 // the same
        double weight;
    };

    Family& family_;
    Facets<Family> facets_;
    size_t stride_;
    int parts_;  // the most that a structure has
    const double* w_;
    std::vector<int32_t> index_;  // (cells) number of a live cell, -1: it is not
    std::vector<double> table_;   // (cells) what the oracle is asked
    std::vector<double> start_;   // (live) the marginals
    Pool pool_;
    std::vector<Step> steps_;
    double violation_;  // what one costs
    bool exact_;
    int calls_;

    // Whether an option of a slot is a cell.
    static bool counts(int option) {
        return !Family::kEmpty || Facets<Family>::kEmpty || option != 0;
    }

    void read(const ActiveSet<Family>& set) {
        std::vector<double> mass(index_.size(), 0.0);
        for (int a = 0; a < set.size(); ++a)
            for (int i = 0; i < family_.slots; ++i)
                if (int option = set.codes.code(a)[i]; counts(option))
                    mass[static_cast<size_t>(family_.base(i) + option)] += set.weights[a];
        for (size_t c = 0; c < mass.size(); ++c) {
            if (!(mass[c] > Pool::kZero)) continue;
            index_[c] = pool_.count();
            pool_.live.push_back(static_cast<int32_t>(c));
            start_.push_back(mass[c]);
        }
        pool_.residual = start_;
        for (violation_ = 1 << 30; violation_ < parts_ * double(1 << 30);) violation_ *= 2;
    }

    // Takes the first `count` steps anew from the beginning.
    void replay(size_t count) {
        steps_.resize(count);
        pool_.residual = start_;
        pool_.mass = 1;
        exact_ = true;
        std::fill(table_.begin(), table_.end(), kForbidden);
        if (Family::kEmpty && !Facets<Family>::kEmpty)
            for (int r = 0; r < family_.rows; ++r)
                table_[static_cast<size_t>(r) * static_cast<size_t>(family_.width)] = 0;
        for (int32_t c : pool_.live) table_[static_cast<size_t>(c)] = w_[c];
        for (Facet& facet : pool_.facets) {
            facet.tight = false;
            meet(facet, pool_.slack(facet));
        }
        for (const Step& step : steps_) subtract(step);
    }

    // The facet has so much slack now.
    void meet(Facet& facet, double slack) {
        facet.slack = slack;
        if (facet.tight || slack > Pool::kZero) return;
        facet.tight = true;
        for (int c = 0; c < pool_.count(); ++c) {
            if (!has_bit(facet.cells, c)) continue;
            double& score = table_[static_cast<size_t>(pool_.live[static_cast<size_t>(c)])];
            score -= facet.sign * violation_;
            if (score != kForbidden && 2 * parts_ * std::fabs(score) > kExact) exact_ = false;
        }
    }

    void subtract(const Step& step) {
        pool_.mass -= step.weight;
        for (int32_t c : step.used) {
            double& left = pool_.residual[static_cast<size_t>(c)];
            left -= step.weight;
            if (left > Pool::kZero) continue;
            left = 0;
            table_[static_cast<size_t>(pool_.live[static_cast<size_t>(c)])] = kForbidden;
        }
        for (Facet& facet : pool_.facets)
            if (!facet.tight)
                meet(facet, facet.slack - step.weight * facet.distance(step.cells));
    }

    // One step; false where no structure is left on the face.
    bool take() {
        Step step{std::vector<int16_t>(stride_, 0), {}, no_bits(pool_.live.size()), pool_.mass};
        ++calls_;
        if (!family_(Thread{}, table_.data(), step.code.data())) return false;
        for (int i = 0; i < family_.slots; ++i) {
            int option = step.code[static_cast<size_t>(i)];
            if (!counts(option)) continue;
            int32_t c = index_[static_cast<size_t>(family_.base(i) + option)];
            step.used.push_back(c);
            set_bit(step.cells, c);
            step.weight = std::min(step.weight, pool_.residual[static_cast<size_t>(c)]);
        }
        for (const Facet& facet : pool_.facets) {
            int distance = facet.distance(step.cells);
            if (facet.tight && distance != 0) return false;
            if (distance > 0) step.weight = std::min(step.weight, facet.slack / distance);
        }
        subtract(step);
        steps_.push_back(std::move(step));
        return true;
    }

    // How many steps keep the facets from number `known` on.
    size_t first_violation(size_t known) {
        size_t keep = steps_.size();
        pool_.residual = start_;
        pool_.mass = 1;
        for (size_t f = known; f < pool_.facets.size(); ++f) {
            const Facet& facet = pool_.facets[f];
            double slack = pool_.slack(facet);
            for (size_t s = 0; s < keep; ++s) {
                slack -= steps_[s].weight * facet.distance(steps_[s].cells);
                if (slack < -Pool::kZero) keep = s;
            }
        }
        return keep;
    }
};

// The canonical decomposition of the marginals of a solution, for w: (cells) integers, 0 where there
// is no part. False: the facets of the family are not known, or did not suffice.
template <class Family>
bool peel(Family& family, const ActiveSet<Family>& set, const double* w, Pulled& out) {
    if constexpr (Facets<Family>::kKnown) {
        Peel<Family> peeling(family, set, w);
        bool complete = peeling.run();
        out.calls += peeling.calls();
        if (complete) peeling.write(out);
        forget(family);
        return complete;
    } else {
        return false;
    }
}

}  // namespace sparsewood
