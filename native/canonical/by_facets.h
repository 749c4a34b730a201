// Canonical weights of a family whose facets are known: the pulling triangulation.
//
// Each step subtracts from the remaining marginals as much as possible of the structure that
// maximises the fixed integers on the smallest face. Such a structure uses only cells with
// remaining mass, and satisfies every tight inequality with equality. One exact oracle call finds
// it, as a violation costs more than all integers together. The step ends when a cell or an
// inequality becomes tight.
//
// If an inequality is missing from the pool, a step may be too long. The remaining marginals are
// then outside the polytope and never reach 0, so reaching mass 0 proves every step correct.
// Periodically, and if there is no possible step, violated inequalities are searched for, and all
// steps from the first violation on are undone.
#pragma once

#include "canonical/decomposition.h"
#include "canonical/simple_facets.h"
#include "canonical/spanning_facets.h"
#include "canonical/tree_cuts.h"
#include "solver/active_set.h"

namespace sparsewood {

template <class Family>
class ByFacets {
  public:
    ByFacets(Family& family, const ActiveSet<Family>& set, const double* w)
        : family_(family),
          facets_(facets_of(family)),
          stride_(set.codes.stride),
          w_(w),
          index_(cells(family), -1) {
        read(set);
        unique_ = facets_.is_unique(family, set.theta, pool_);
        parts_ = most_parts(family);
        double spread = std::min(this->spread(set), parts_ * double(1 << 30));
        for (violation_ = 1; violation_ <= spread;) violation_ *= 2;
        facets_.begin(family, set.theta, pool_);
        follow(0);
        go_back(0);
    }

    // False: a violated inequality is missing, scores are too large to be exact, or the marginals
    // are not unique.
    bool run() {
        if (!unique_) return false;
        int unverified = 0;
        for (int repairs = 0; pool_.mass > kDone && exact_ && repairs < kRepairs;) {
            bool taken = take();
            size_t known = pool_.facets.size();
            if (taken && (++unverified < kUnverified || !facets_.separate(pool_))) {
                unverified %= kUnverified;
                continue;
            }
            if (!taken && !facets_.separate(pool_)) return false;
            go_back(follow(known));
            unverified = 0;
            ++repairs;
        }
        return pool_.mass <= kDone;
    }

    void write(Decomposition& out) const {
        for (const Step& step : steps_) {
            if (step.weight <= Pool::kZero) continue;
            out.codes.insert(out.codes.end(), step.code.begin(), step.code.end());
            out.weights.push_back(step.weight);
        }
    }

    int calls() const { return calls_; }

  private:
    static constexpr double kDone = 1e-11;  // remaining mass that counts as 0
    static constexpr int kRepairs = 1000;
    static constexpr int kUnverified = 8;  // steps between searches for cuts, which cost as much
    static constexpr double kExact = 9007199254740992.0;  // integers up to it are exact in float64

    struct Step {
        List<int16_t> code;  // (stride)
        List<int32_t> used;  // indices of its live cells
        Bits cells;                 // the same
        double weight;
    };

    Family& family_;
    Facets<Family> facets_;
    int stride_;
    int parts_;  // maximum number of parts of a structure
    const double* w_;
    List<int32_t> index_;  // (cells) index among live cells, -1: not live
    List<double> table_;   // (cells) the scores for the oracle
    List<double> start_;   // (live) the marginals
    Pool pool_;
    List<Step> steps_;
    bool unique_;
    double violation_;  // cost of one violation
    double constants_;  // violation_ times the constants of all tight facets
    bool exact_;
    int calls_ = 0;

    // Whether an option of a slot is a cell.
    bool counts(int option) const { return !Family::kEmpty || facets_.kEmpty || option != 0; }

    void read(const ActiveSet<Family>& set) {
        List<double> mass(index_.size(), 0.0);
        for (int a = 0; a < set.size(); ++a)
            for (int i = 0; i < family_.slots; ++i)
                if (int option = set.codes.code(a)[i]; counts(option))
                    mass[family_.base(i) + option] += set.weights[a];
        for (size_t c = 0; c < mass.size(); ++c) {
            if (!(mass[c] > Pool::kZero)) continue;
            index_[c] = pool_.count();
            pool_.live.push_back(static_cast<int32_t>(c));
            start_.push_back(mass[c]);
        }
        pool_.residual = start_;
    }

    // A bound on the difference of two structures by the integers: per slot the difference between
    // the best and the worst option.
    double spread(const ActiveSet<Family>& set) const {
        double sum = 0;
        for (int i = 0; i < family_.slots; ++i) {
            double least = -kForbidden, most = kForbidden;
            for (int a = 0; a < set.size(); ++a) {
                double w = w_[family_.base(i) + set.codes.code(a)[i]];
                least = std::min(least, w), most = std::max(most, w);
            }
            sum += most - least;
        }
        return sum;
    }

    // Updates the facets from index `known` on by all steps. Returns how many steps satisfy them.
    size_t follow(size_t known) {
        size_t keep = steps_.size();
        for (size_t f = known; f < pool_.facets.size(); ++f) {
            Facet& facet = pool_.facets[f];
            facet.slack.assign(1, pool_.slack(facet, start_, 1));
            for (size_t s = 0; s < keep; ++s) {
                const Step& step = steps_[s];
                facet.slack.push_back(facet.slack[s] - step.weight * facet.distance(step.cells));
                if (facet.slack.back() < -Pool::kZero) keep = s;
            }
        }
        return keep;
    }

    // Undoes all steps but the first `count`.
    void go_back(size_t count) {
        steps_.resize(count);
        pool_.residual = start_;
        pool_.mass = 1;
        table_.assign(index_.size(), kForbidden);
        if (Family::kEmpty && !facets_.kEmpty)
            for (int r = 0; r < family_.rows; ++r) table_[int64_t(r) * family_.width] = 0;
        for (int32_t c : pool_.live) table_[c] = w_[c];
        for (const Step& step : steps_) subtract(step);
        exact_ = true;
        constants_ = 0;
        for (Facet& facet : pool_.facets) {
            facet.slack.resize(count + 1);
            facet.tight = false;
            if (facet.slack[count] <= Pool::kZero) tighten(facet);
        }
    }

    void tighten(Facet& facet) {
        facet.tight = true;
        constants_ += facet.constant * violation_;
        for (int c = 0; c < pool_.count(); ++c) {
            if (!has_bit(facet.cells, c)) continue;
            double& score = table_[pool_.live[c]];
            score -= facet.sign * violation_;
            if (score != kForbidden && 2 * parts_ * std::fabs(score) > kExact) exact_ = false;
        }
    }

    void subtract(const Step& step) {
        pool_.mass -= step.weight;
        for (int32_t c : step.used) {
            pool_.residual[c] -= step.weight;
            if (pool_.residual[c] > Pool::kZero) continue;
            pool_.residual[c] = 0;
            table_[pool_.live[c]] = kForbidden;
        }
    }

    // One step; false if there is no structure on the face.
    bool take() {
        Step step{List<int16_t>(stride_, 0), {}, no_bits(pool_.count()), pool_.mass};
        Thread g;
        g.poll();
        ++calls_;
        if (!family_(g, table_.data(), step.code.data())) return false;
        double violations = -constants_;
        for (int i = 0; i < family_.slots; ++i) {
            if (!counts(step.code[i])) continue;
            int64_t cell = family_.base(i) + step.code[i];
            int32_t c = index_[cell];
            if (c < 0) return false;
            step.used.push_back(c);
            set_bit(step.cells, c);
            step.weight = std::min(step.weight, pool_.residual[c]);
            violations += table_[cell] - w_[cell];
        }
        if (violations != 0) return false;
        for (Facet& facet : pool_.facets) {
            int distance = facet.tight ? 0 : facet.distance(step.cells);
            distances_.push_back(distance);
            if (distance > 0) step.weight = std::min(step.weight, facet.slack.back() / distance);
        }
        subtract(step);
        for (size_t f = 0; f < distances_.size(); ++f) {
            Facet& facet = pool_.facets[f];
            facet.slack.push_back(facet.slack.back() - step.weight * distances_[f]);
            if (!facet.tight && facet.slack.back() <= Pool::kZero) tighten(facet);
        }
        distances_.clear();
        steps_.push_back(std::move(step));
        return true;
    }

    List<int> distances_;  // (facets) scratch
};

// The canonical decomposition of the marginals of a solution. w: (cells) integers, 0 at cells that
// are not parts. False: the facets of the family are unknown or did not suffice, or the marginals
// of parts without penalty are not unique.
template <class Family>
bool decompose_by_facets(Family& family, const ActiveSet<Family>& set, const double* w,
                         Decomposition& out) {
    if constexpr (Facets<Family>::kKnown) {
        ByFacets<Family> search(family, set, w);
        bool complete = search.run();
        out.calls += search.calls();
        if (complete) search.write(out);
        return complete;
    } else {
        return false;
    }
}

}  // namespace sparsewood
