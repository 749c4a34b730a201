// SparseMAP by the active set method (Nocedal & Wright 2006, ch. 16; Niculae et al. 2018):
//
//     max over distributions q    <theta, M q> - 1/2 ||D M q||^2
//
// with D keeping the penalised parts: all, or all but the transitions of a chain.
// The oracle finds argmax_h <theta - D u, h>; with u = M q optimal on the active structures,
// these all score the same, and what the oracle's structure scores above them is the duality gap.
//
// The oracle's structure moves every slot at once, so entering it alone approaches the
// solution like a binary expansion: the last structures get weights of 1e-10 and less,
// and those still missing bend the gradient. Beside it therefore enter crosses: an active
// structure and its nearest neighbour, mixed slot by slot for the better score. They
// separate slots that no active structure tells apart, which takes far fewer oracle calls
// and ends at weights that are not small.
//
// Where parts carry no penalty a better structure may be affinely dependent on the active ones in
// the parts that do. It then takes the place of one of them: a pivot of the simplex method.
#pragma once

#include "solver/crosses.h"

namespace sparsewood {

enum class Status : int32_t {
    kSolved,       // gap closed
    kCapped,       // max_active or max_iter reached
    kStalled,      // float64 has nothing more to give
    kLimited,      // a limit of the solver's own: of structures, rounds or memory
    kNoStructure,  // every structure uses a forbidden part
    kMoreRoom      // lay out more room for the active set, then run again: it continues
};

constexpr int64_t kMostStructures = 1 << 16;  // whose factor takes 17 GB

struct Limits {
    double tol;
    int64_t max_active;  // 0: none
    int64_t max_iter;    // 0: none
    int64_t most_structures = kMostStructures;  // of the solver's own
};

template <class Family>
struct Solver {
    ActiveSet<Family> set;
    Crosses<Family> crosses;
    Limits limits;
    bool crossing;      // let crosses enter beside the oracle's structure
    double range;       // of the finite scores; 1 where all are equal
    double* tilted;     // (penalised cells) theta with its ties broken
    double* reduced;    // (cells) theta - D u, tilted until the end
    int16_t* entering;  // (stride)

    int proposals;  // structures to start from; 0: the MAP structure
    bool started;   // they are in the active set
    bool level;     // priced by theta itself, no longer tilted
    bool equal;     // all scores are
    int calls, largest, idle;
    double gap, noise, smallest;  // noise: the rounding error of the gap

    SPARSEWOOD_HD Family& family() { return set.codes.family; }
    SPARSEWOOD_HD const Family& family() const { return set.codes.family; }

    // For the size that the family has been set to.
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

    // Starts from what the family takes for the solution, unless there are caps: those are filled
    // from the best structure on. Returns the room that this needs.
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

    // For so many active structures there has to be room before run() goes on.
    SPARSEWOOD_HD int room_needed() const { return set.size() + most_crosses() + 2; }

    // Ends a run that there is no more room for: at the last optimum, with its gap.
    template <class G>
    SPARSEWOOD_HD Status end_early(const G& g) {
        while (set.size() > 1 && set.weights[set.size() - 1] == 0) --set.factor.size;
        level = true;
        price(g);
        certify(g);
        return Status::kLimited;
    }

    // Whether the gap keeps the promise, with what rounding hides of it.
    SPARSEWOOD_HD bool is_certified() const {
        return (gap > 0 ? gap : 0) + noise <= limits.tol * range;
    }

    // The optimum over the active set as it stands, of which no structure is dropped, and its gap.
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

    // A fixed pseudo-random number in [0, 1) for each part (the finaliser of MurmurHash3).
    static SPARSEWOOD_HD double fraction(int64_t part) {
        uint32_t x = static_cast<uint32_t>(part) + 1;
        x = (x ^ (x >> 16)) * 0x85ebca6bu;
        x = (x ^ (x >> 13)) * 0xc2b2ae35u;
        return (x ^ (x >> 16)) / 4294967296.0;
    }

  private:
    static constexpr double kTilt = 1e-12;   // far above rounding, far below any tolerance
    static constexpr int kIdle = 3;          // rounds without improvement: the end, at rounding
    static constexpr int kPatience = 100;    // the same, above it
    static constexpr double kRounding = 32;  // times the noise
    static constexpr int kIterations = 20;   // per part, before giving up on a degenerate problem

    // When all scores are equal the oracle's own order of preference, by index, happens to lead
    // to a solution of n structures; tilted it would need some n^2.
    SPARSEWOOD_HD double tilt() const { return equal ? 0 : kTilt; }

    SPARSEWOOD_HD int most_crosses() const {
        return set.size() < crosses.kMost ? set.size() : crosses.kMost;
    }

    SPARSEWOOD_HD int64_t most_active() const {
        return limits.max_active > 0 ? limits.max_active : set.size() + crosses.kMost;
    }

    template <class G>
    SPARSEWOOD_HD bool start(const G& g) {
        if (proposals > 0)
            proposed(family(), g, 0, set.origin, 0);
        else if (!ask(g, set.theta, set.origin))
            return false;
        for (int i = set.codes.slots + g.lane(); i < set.codes.stride; i += g.size())
            entering[i] = 0;
        set.begin(g);
        for (int c = 1; c < proposals; ++c) {
            proposed(family(), g, c, entering, 0);
            set.append_next(g, entering, c == 1);
        }
        // The penalised cells tell structures apart: to tilt those is enough.
        int64_t count = penalised_cells(family());
        for (int64_t c = g.lane(); c < count; c += g.size()) {
            bool empty = Family::kEmpty && c % family().width == 0;
            tilted[c] = empty ? 0 : set.theta[c] + tilt() * fraction(c);
        }
        restore(g);
        return true;
    }

    // One round: solve on the active set, price, enter. True when it is the last.
    template <class G>
    SPARSEWOOD_HD bool step(const G& g, Status& status) {
        settle(g);
        price(g);
        double goal = this->goal();
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
            // Rounding: an active structure, or one that depends on them, cannot be better.
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
            if (level) refine(g);
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

    // The oracle's structure for the reduced scores, and the gap it leaves.
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

    // By how much h scores above the first active structure; by one lane.
    SPARSEWOOD_HD double above_first(const int16_t* h) const {
        return set.codes.score_above(reduced, h, set.codes.code(0));
    }

    // The gap above what the active structures score on average: that is above the first, but for
    // rounding. It is 0 where there is one structure alone, whatever the size of its scores.
    template <class G>
    SPARSEWOOD_HD void certify(const G& g) {
        double mean = 0;
        for (int a = 1 + g.lane(); a < set.size(); a += g.size())
            mean += set.weights[a] * above_first(set.codes.code(a));
        gap -= g.sum(mean);
        if (set.size() == 1 && !is_certified() && is_only(g)) gap = noise = 0;
    }

    // Whether the active structure is the only one there is. Where its parts cost 1 and all others
    // bring 1, any other one scores higher, in whole numbers: nothing is rounded.
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

    // reduced <- theta in the cells without a penalty, where it always is.
    template <class G>
    SPARSEWOOD_HD void restore(const G& g) {
        for (int64_t c = penalised_cells(family()) + g.lane(); c < cells(family()); c += g.size())
            reduced[c] = set.theta[c];
        g.sync();
    }

    // reduced <- theta - D M q, a slot's part of it by one lane. At an optimum over the active set
    // many structures score the same; the tilt lets the oracle choose among them by more than
    // rounding errors.
    template <class G>
    SPARSEWOOD_HD SPARSEWOOD_ONCE void reduce(const G& g, const double* q) {
        const double* from = level ? set.theta : tilted;
        int64_t count = penalised_cells(family());
        SPARSEWOOD_UNROLLED
        for (int64_t c = g.lane(); c < count; c += g.size()) reduced[c] = from[c];
        g.sync();
        if constexpr (G::kLanes == 1) {
            for (int a = 0; a < set.size(); ++a) subtract(0, family().penalised, a, q[a]);
        } else {
            for (int i = g.lane(); i < family().penalised; i += g.size()) {
                int a = 0;
                for (; a + 4 <= set.size(); a += 4) subtract_four(i, a, q);
                for (; a < set.size(); ++a) subtract(i, i + 1, a, q[a]);
            }
        }
        g.sync();
    }

    // The weight w of structure a, for the slots from `begin` to `end`.
    SPARSEWOOD_HD void subtract(int begin, int end, int a, double w) {
        const int16_t* h = set.codes.code(a);
        for (int i = begin; i < end; ++i)
            if (!Family::kEmpty || h[i] != 0) reduced[set.codes.base[i] + h[i]] -= w;
    }

    // The weights of structures a .. a + 3, for slot i: what is read does not wait for what is
    // written.
    SPARSEWOOD_HD void subtract_four(int i, int a, const double* q) {
        double *row = reduced + set.codes.base[i], w[4];
        int h[4];
        for (int v = 0; v < 4; ++v) h[v] = set.codes.code(a + v)[i], w[v] = q[a + v];
        for (int v = 0; v < 4; ++v)
            if (!Family::kEmpty || h[v] != 0) row[h[v]] -= w[v];
    }

    // One step of iterative refinement: at the optimum all active structures score the same, and
    // by how much they do not is the residual of the QP solution.
    template <class G>
    SPARSEWOOD_HD void refine(const G& g) {
        reduce(g, set.target);
        double* residual = set.scratch;
        for (int a = g.lane(); a < set.size(); a += g.size())
            residual[a] = above_first(set.codes.code(a));
        g.sync();
        set.factor.jacobian(g, residual);
        for (int a = g.lane(); a < set.size(); a += g.size()) set.target[a] += residual[a];
        g.sync();
    }

    // Whether rounds below the tolerance still bring more structures or a smaller gap.
    SPARSEWOOD_HD bool improves() {
        if (gap > limits.tol) return true;
        idle = set.size() > largest || gap < smallest / 2 ? 0 : idle + 1;
        if (set.size() > largest) largest = set.size();
        if (gap < smallest) smallest = gap;
        return idle < (gap <= kRounding * noise ? kIdle : kPatience);
    }

    // The gap asked for.
    SPARSEWOOD_HD double asked() const { return limits.tol * (range < 1 ? range : 1); }

    // The gap aimed at: well below the one asked for, so that no structure is missing for its
    // weight being small, but not below the rounding error of a score.
    SPARSEWOOD_HD double goal() const {
        double aim = 1e-6 * asked();
        return aim > noise ? aim : noise;
    }

    // What share of the gap a cross must close to enter. With few active structures most
    // crosses would soon leave again; with many, the more enter at once the better.
    SPARSEWOOD_HD double share() const {
        double s = 12.0 / set.size();
        return s < 0.02 ? 0.02 : s > 0.3 ? 0.3 : s;
    }
};

}  // namespace sparsewood
