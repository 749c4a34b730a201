// SparseMAP by the active set method (Nocedal & Wright 2006, ch. 16; Niculae et al. 2018):
//
//     max over distributions q    <theta, M q> - 1/2 ||D M q||^2
//
// where D selects the penalised parts: all, or all but the transitions of a chain.
// The oracle finds argmax_h <theta - D u, h>; with u = M q optimal on the active structures,
// these all have the same score, and the advantage of the oracle's structure is the duality gap.
//
// The oracle's structure changes every slot at once, so entering it alone approaches the
// solution like a binary expansion: the last structures get weights of 1e-10 and less,
// and missing ones distort the gradient. Therefore crosses enter as well: mixtures of an active
// structure and its nearest neighbour, chosen slot by slot for the better score. They
// separate slots that no active structure distinguishes, which takes far fewer oracle calls
// and avoids tiny weights.
//
// If some parts carry no penalty, a better structure may be affinely dependent on the active ones
// in the penalised parts. It then replaces one of them: a pivot of the simplex method.
#pragma once

#include "solver/crosses.h"
#include "solver/start.h"

namespace sparsewood {

enum class Status : int32_t {
    kSolved,       // gap closed
    kCapped,       // max_active or max_iter reached
    kStalled,      // rounding prevents further progress
    kLimited,      // a limit of the solver: structures, rounds or memory
    kNoStructure,  // every structure uses a forbidden part
    kMoreRoom      // enlarge the active set, then call run() again to continue
};

constexpr int64_t kMostStructures = 1 << 16;  // their factor takes 17 GB

struct Limits {
    double tol;
    int64_t max_active;  // 0: none
    int64_t max_iter;    // 0: none
    int64_t most_structures = kMostStructures;  // limit of the solver
};

template <class Family>
struct Solver {
    ActiveSet<Family> set;
    Crosses<Family> crosses;
    Limits limits;
    bool crossing;      // whether crosses enter besides the oracle's structure
    double range;       // of the finite scores; 1 if all are equal
    double* tilted;     // (penalised cells) theta with ties broken
    double* reduced;    // (cells) theta - D u, tilted until the end
    int16_t* entering;  // (stride)

    int proposals;  // structures to start from; 0: the MAP structure
    bool started;   // whether they are in the active set
    bool level;     // whether pricing uses theta instead of tilted
    bool equal;     // whether all scores are equal
    int calls, largest, idle;
    double gap, noise, smallest;  // noise: the rounding error of the gap

    SPARSEWOOD_HD Family& family() { return set.codes.family; }
    SPARSEWOOD_HD const Family& family() const { return set.codes.family; }

    // Allocates memory for the current size of the family.
    SPARSEWOOD_HD void lay_out(Arena& arena) {
        set.lay_out(arena);
        family().lay_out(arena);
        crosses.lay_out(arena, set.codes);
        tilted = arena.take<double>(penalised_cells(family()));
        reduced = arena.take<double>(cells(family()));
        entering = arena.take<int16_t>(set.codes.stride);
    }

    SPARSEWOOD_HD void lay_out_active(Arena& arena, int room) {
        set.lay_out_active(arena, room);
        crosses.lay_out_active(arena, room);
    }

    SPARSEWOOD_HD void reset(const double* scores, double score_range, Limits given,
                             bool with_crosses) {
        crossing = with_crosses && cross_gap(family()) > kNever;
        set.reset(scores, !crossing);
        equal = !(score_range > 0);
        range = equal ? 1 : score_range;
        limits = given;
        started = level = false;
        calls = largest = idle = proposals = 0;
        gap = noise = 0;
        smallest = -kForbidden;
    }

    // Starts from the structures that the family proposes, or with caps from the MAP structure.
    // Returns the capacity that this needs.
    template <class G>
    SPARSEWOOD_HD int propose(const G& g) {
        if (limits.max_active == 0 && limits.max_iter == 0)
            proposals = sparsewood::propose(family(), g, set.theta, 0);
        return proposals + (proposals < crosses.kMost ? proposals : crosses.kMost) + 2;
    }

    template <class G>
    SPARSEWOOD_HD Status run(const G& g) {
        if (!started && !start(g)) return Status::kNoStructure;
        started = true;
        Status status = Status::kMoreRoom;
        while (room_needed() <= set.codes.capacity)
            if (step(g, status)) {
                certify(g);
                break;
            }
        return status;
    }

    // The capacity of the active set that run() needs to continue.
    SPARSEWOOD_HD int room_needed() const { return set.size() + most_crosses() + 2; }

    // Ends a run for which there is no more memory, at the last optimum, with its gap.
    template <class G>
    SPARSEWOOD_HD Status end_early(const G& g) {
        while (set.size() > 1 && set.weights[set.size() - 1] == 0) --set.factor.size;
        level = true;
        price(g);
        certify(g);
        return Status::kLimited;
    }

    // Whether the gap, including its rounding error, is within the promise.
    SPARSEWOOD_HD bool is_certified() const {
        return (gap > 0 ? gap : 0) + noise <= limits.tol * range;
    }

    // The optimum over the current active set, without dropping structures, and its gap.
    template <class G>
    SPARSEWOOD_HD void settle_all(const G& g) {
        level = true;
        restore(g);
        set.factor.solve(g, set.target);
        refine(g);
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); a < set.size(); a += g.size()) set.weights[a] = set.target[a];
        g.sync();
        price(g);
        certify(g);
    }

  private:
    static constexpr double kTilt = 1e-12;   // far above rounding, far below any tolerance
    static constexpr int kIdle = 3;          // rounds without improvement at which to end
    static constexpr int kPatience = 100;    // the same, above rounding
    static constexpr int kProposedRefinements = 3;
    static constexpr double kRounding = 32;  // times the noise
    static constexpr int kIterations = 20;   // per part, before giving up on a degenerate problem

    // If all scores are equal, the oracle's tie-breaking by index happens to give a solution of n
    // structures; with tilted scores it would need about n^2.
    SPARSEWOOD_HD double tilt() const { return equal ? 0 : kTilt; }

    SPARSEWOOD_HD int most_crosses() const {
        return set.size() < crosses.kMost ? set.size() : crosses.kMost;
    }

    SPARSEWOOD_HD int64_t most_active() const {
        return limits.max_active > 0 ? limits.max_active : set.size() + crosses.kMost;
    }

    template <class G>
    SPARSEWOOD_HD bool start(const G& g) {
        if (!begin_set(g, set, proposals, [&](int16_t* h) { return ask(g, set.theta, h); }))
            return false;
        add_proposals(g, set, proposals, entering);
        level = proposals > 0;
        break_ties(g, family(), set.theta, tilt(), tilted);
        restore(g);
        return true;
    }

    // One round: solve over the active set, price, enter. True if it is the last.
    template <class G>
    SPARSEWOOD_HD bool step(const G& g, Status& status) {
        bool proposed = set.iterations == 0 && proposals > 0;
        settle(g);
        price(g);
        double goal = this->goal();
        if (proposed && gap > goal) level = false;
        bool stalls = !improves(), ends = stalls || is_at_limit();
        if (!level && (gap <= asked() + 2 * set.codes.slots * tilt() || gap <= goal || ends)) {
            level = true;
            idle = 0;
            return false;
        }
        if (gap <= goal) {
            status = Status::kSolved;
        } else if (limits.max_iter > 0 && set.iterations >= limits.max_iter) {
            status = Status::kCapped;
        } else if (ends) {
            status = is_at_limit() ? Status::kLimited : Status::kStalled;
        } else if (Entry entry = set.append(g, entering); entry != Entry::kEntered) {
            if (entry == Entry::kDependent && family().penalised < set.codes.slots) {
                set.pivot(g, entering);
                return false;
            }
            // Rounding: an active or dependent structure cannot be better.
            if (!level) {
                level = true;
                return false;
            }
            status = Status::kStalled;
        } else if (limits.max_active > 0 && set.size() > limits.max_active && !set.makes_room(g)) {
            status = Status::kCapped;
        } else {
            if (crossing && gap < cross_gap(family()))
                crosses.enter(g, set, reduced, gap > asked() ? share() * gap : goal, most_active());
            return false;
        }
        return true;
    }

    SPARSEWOOD_HD bool is_at_limit() const {
        return set.size() >= limits.most_structures ||
               set.iterations > kIterations * (cells(family()) + 1);
    }

    // Solves the QP on the active set and drops structures until all weights are positive.
    template <class G>
    SPARSEWOOD_HD void settle(const G& g) {
        double now;
        do {
            g.poll();
            ++set.iterations;
            now = set.factor.solve(g, set.target);
            // Proposals have small weights, which must not be lost by rounding.
            int steps = set.iterations == 1 && proposals > 0 ? kProposedRefinements : level;
            while (steps-- > 0) refine(g);
        } while (set.careful ? set.walk(g) : set.drop_negative(g));
        SPARSEWOOD_ROLLED
        for (int a = g.lane(); a < set.size(); a += g.size()) set.weights[a] = set.target[a];
        g.sync();
        if (now <= set.objective) set.careful = true;
        set.objective = now;
    }

    template <class G>
    SPARSEWOOD_HD SPARSEWOOD_ONCE bool ask(const G& g, const double* table, int16_t* code) {
        ++calls;
        return family()(g, table, code);
    }

    // The oracle's structure for the reduced scores, and the resulting gap.
    template <class G>
    SPARSEWOOD_HD void price(const G& g) {
        reduce(g, set.weights);
        ask(g, reduced, entering);
        double sums[2] = {set.codes.share_above(g, reduced, entering, set.codes.code(0)), 0};
        SPARSEWOOD_ROLLED
        for (int i = g.lane(); i < set.codes.slots; i += g.size())
            sums[1] += fabs(reduced[set.codes.base[i] + entering[i]]);
        g.sum(sums);
        gap = sums[0];
        noise = 2 * kEpsilon * (1 + sums[1]);
    }

    // The score of active structure a minus that of the first; run by one lane.
    template <class Lane>
    SPARSEWOOD_HD double above_first(const Lane& lane, int a) const {
        return set.codes.above(lane, reduced, set.codes.place[a], set.codes.place[0]);
    }

    // The gap relative to the mean score of the active structures, which equals that of the first
    // up to rounding. It is 0 for a single structure, whatever the size of its scores.
    template <class G>
    SPARSEWOOD_HD void certify(const G& g) {
        double mean = 0;
        for (int a = 1 + g.lane(); a < set.size(); a += g.size())
            mean += set.weights[a] * above_first(typename G::Lane{}, a);
        gap -= g.sum(mean);
        if (set.size() == 1 && !is_certified() && is_only(g)) gap = noise = 0;
    }

    // Whether the active structure is the only one that exists. If its parts score -1 and all
    // others 1, any other structure scores higher; these are integers, so nothing is rounded.
    template <class G>
    SPARSEWOOD_HD SPARSEWOOD_ONCE bool is_only(const G& g) {
        const int16_t* only = set.codes.code(0);
        for (int64_t c = g.lane(); c < cells(family()); c += g.size()) {
            bool empty = Family::kEmpty && c % family().width == 0;
            bool counts = !empty && is_penalised(family(), c);
            reduced[c] = set.theta[c] == kForbidden ? kForbidden : counts;
        }
        g.sync();
        for (int i = g.lane(); i < family().penalised; i += g.size())
            if (!Family::kEmpty || only[i] != 0) reduced[set.codes.base[i] + only[i]] = -1;
        g.sync();
        ask(g, reduced, entering);
        bool differs = false;
        for (int i = g.lane(); i < family().penalised; i += g.size())
            differs |= entering[i] != only[i];
        bool alone = !g.any(differs);
        restore(g);
        reduce(g, set.weights);
        return alone;
    }

    // reduced <- theta in the cells without penalty, where it never changes.
    template <class G>
    SPARSEWOOD_HD void restore(const G& g) {
        for (int64_t c = penalised_cells(family()) + g.lane(); c < cells(family()); c += g.size())
            reduced[c] = set.theta[c];
        g.sync();
    }

    // reduced <- theta - D M q, one slot per lane. At an optimum over the active set many
    // structures have equal scores; the tilt makes the oracle's choice independent of rounding
    // errors.
    template <class G>
    SPARSEWOOD_HD SPARSEWOOD_ONCE void reduce(const G& g, const double* q) {
        const double* from = level ? set.theta : tilted;
        int64_t count = penalised_cells(family());
        SPARSEWOOD_UNROLLED
        for (int64_t c = g.lane(); c < count; c += g.size()) reduced[c] = from[c];
        g.sync();
        if constexpr (G::kLanes == 1) {
            for (int a = 0; a < set.size(); ++a)
                if (const FilledSlots& filled = set.codes.filled; filled.exist())
                    filled.each(set.codes.place[a],
                                [&](int i) { reduced[set.codes.base[i] + 1] -= q[a]; });
                else
                    subtract(0, family().penalised, a, q[a]);
        } else {
            for (int i = g.lane(); i < family().penalised; i += g.size()) {
                int a = 0;
                for (; a + 4 <= set.size(); a += 4) subtract_four(i, a, q);
                for (; a < set.size(); ++a) subtract(i, i + 1, a, q[a]);
            }
        }
        g.sync();
    }

    // Subtracts the weight w of structure a, for the slots from `begin` to `end`.
    SPARSEWOOD_HD void subtract(int begin, int end, int a, double w) {
        const int16_t* h = set.codes.code(a);
        for (int i = begin; i < end; ++i)
            if (!Family::kEmpty || h[i] != 0) reduced[set.codes.base[i] + h[i]] -= w;
    }

    // Subtracts the weights of structures a .. a + 3, for slot i, so that reads do not wait for
    // writes.
    SPARSEWOOD_HD void subtract_four(int i, int a, const double* q) {
        double *row = reduced + set.codes.base[i], w[4];
        int h[4];
        for (int v = 0; v < 4; ++v) h[v] = set.codes.code(a + v)[i], w[v] = q[a + v];
        for (int v = 0; v < 4; ++v)
            if (!Family::kEmpty || h[v] != 0) row[h[v]] -= w[v];
    }

    // One step of iterative refinement: at the optimum all active structures have equal scores, so
    // their differences are the residual of the QP solution.
    template <class G>
    SPARSEWOOD_HD void refine(const G& g) {
        reduce(g, set.target);
        double* residual = set.scratch;
        for (int a = g.lane(); a < set.size(); a += g.size())
            residual[a] = above_first(typename G::Lane{}, a);
        g.sync();
        set.factor.jacobian(g, residual);
        for (int a = g.lane(); a < set.size(); a += g.size()) set.target[a] += residual[a];
        g.sync();
    }

    // Whether rounds below the tolerance still add structures or reduce the gap.
    SPARSEWOOD_HD bool improves() {
        if (gap > limits.tol) return true;
        idle = set.size() > largest || gap < smallest / 2 ? 0 : idle + 1;
        if (set.size() > largest) largest = set.size();
        if (gap < smallest) smallest = gap;
        return idle < (gap <= kRounding * noise ? kIdle : kPatience);
    }

    // The requested gap.
    SPARSEWOOD_HD double asked() const { return limits.tol * (range < 1 ? range : 1); }

    // The target gap: well below the requested one, so that structures of small weight are not
    // missing, but not below the rounding error of a score.
    SPARSEWOOD_HD double goal() const {
        double aim = 1e-6 * asked();
        return aim > noise ? aim : noise;
    }

    // The fraction of the gap that a cross must gain to enter. With few active structures most
    // crosses would soon leave again; with many, it is best to enter as many as possible.
    SPARSEWOOD_HD double share() const {
        double s = 12.0 / set.size();
        return s < 0.02 ? 0.02 : s > 0.3 ? 0.3 : s;
    }
};

}  // namespace sparsewood
