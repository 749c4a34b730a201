// The worker of one CPU thread: a solver and its memory.
#pragma once

#include <algorithm>
#include <utility>

#include "canonical/canonical.h"
#include "group/block.h"
#include "solver/batch.h"
#include "solver/instance.h"
#include "solver/path.h"

namespace sparsewood {

// A solver with its memory.
template <class Family>
class Worker {
  public:
    void solve(const Scores& scores, int64_t b, double temperature, const Request& request,
               Solution& out) {
        double* theta = lay_out(scores, b);
        double range = read(scores, b, temperature, theta);
        out.temperature = temperature;
        Status status = request.max_support > 0 ? at_most(theta, range, request, out)
                                                : optimum(theta, range, request.limits);
        if (status == Status::kNoStructure) scores.no_structure(b);
        if (request.canonical) out.canonical = make_canonical(scores, status, request.max_support);
        write(status, request.events, out);
    }

    void argmax(const Scores& scores, int64_t b, int64_t* events) {
        double* theta = lay_out(scores, b);
        read(scores, b, 1.0, theta);
        if (!family()(Thread{}, theta, solver_.entering)) scores.no_structure(b);
        family().event(Thread{}, solver_.entering, events + b * family().event_size());
    }

    Family& family() { return solver_.family(); }

  private:
    Solver<Family> solver_;
    Block fixed_, active_;
    int room_ = 64;  // capacity for active structures; kept for later instances

    double* lay_out(const Scores& scores, int64_t b) {
        family().set_size(scores.size(b), scores.shape.data(), scores.options.data());
        Arena measure{nullptr};
        solver_.lay_out(measure);
        measure.take<double>(cells(family()));
        Arena arena{fixed_.reserve(measure.used, "a workspace")};
        solver_.lay_out(arena);
        return arena.take<double>(cells(family()));
    }

    // Copies instance b, divided by the temperature, to the table. Returns the range of its finite
    // scores.
    double read(const Scores& scores, int64_t b, double temperature, double* table) {
        if (!is_temperature(temperature))
            fail(scores.name("temperature", b) + " must be positive and finite");
        return scores.with_instance(b, [&](auto from) {
            Reading found = read_scores(Thread{}, family(), from, temperature, table);
            if (found.bad >= 0) scores.reject(b, found.bad, from[found.bad]);
            return found.range;
        });
    }

    void lay_out_active(Block& block, int room) {
        if (!try_lay_out_active(block, room, 0))
            fail_for_memory(bytes_of_room(room), "room for " + counted(room));
    }

    // False if there is no memory for it plus `more` bytes; the layout is then lost.
    bool try_lay_out_active(Block& block, int room, int64_t more) {
        int64_t bytes = bytes_of_room(room);
        char* memory = has_memory(bytes + more) ? block.try_reserve(bytes) : nullptr;
        if (!memory) return false;
        Arena arena{memory};
        solver_.lay_out_active(arena, room);
        return true;
    }

    int64_t bytes_of_room(int room) {
        Arena measure{nullptr};
        solver_.lay_out_active(measure, room);
        return measure.used;
    }

    Status optimum(const double* theta, double range, Limits limits) {
        bool crosses = starts_with_crosses(family(), limits, range);
        Status status = run(theta, range, limits, crosses);
        if (status == Status::kCapped && crosses) status = run(theta, range, limits, false);
        return status;
    }

    // Lowers the temperature until max_support structures suffice, and sets theta and the solver to
    // that temperature. If more structures tie for the best score, solves with max_active instead.
    Status at_most(double* theta, double range, const Request& request, Solution& out) {
        const std::vector<double> given(theta, theta + cells(family()));
        auto at = [&](double s) {
            for (size_t c = 0; c < given.size(); ++c) theta[c] = s * given[c];
            return s * range;
        };
        solver_.reset(theta, range, request.limits, false);
        lay_out_active(active_, room_);
        int calls = 0;
        Path<Family> path(solver_, request.max_support);
        auto solve_at = [&](double s, int64_t most) {
            calls += solver_.calls;
            Limits limits = request.limits;
            limits.max_active = most;
            Status status = optimum(theta, at(s), limits);
            at(1);
            for (int a = 0; a < solver_.set.size(); ++a) solver_.set.factor.scores[a] /= s;
            solver_.range = range > 0 ? range : 1;
            return status == Status::kSolved;
        };
        PathEnd end = path.run([&] { must_grow(); }, solve_at);
        calls += solver_.calls;
        if (end == PathEnd::kNoStructure) return Status::kNoStructure;
        Limits capped = request.limits;
        capped.max_active = request.max_support;
        Status status = Status::kSolved;
        if (end == PathEnd::kTied) {
            status = optimum(theta, range, capped);
        } else {
            double lower = at(path.s());
            while (path.found().size() + 2 > solver_.set.codes.capacity) must_grow();
            solver_.reset(theta, lower, request.limits, false);
            if (!take_over(solver_, path.found())) {
                calls += solver_.calls;
                status = optimum(theta, lower, capped);
            }
            out.temperature /= path.s();
            for (int i = 0; i < family().slots && !path.tie().empty(); ++i) {
                int64_t part = family().part(i, path.tie()[static_cast<size_t>(i)]);
                if (part >= 0) out.tie.push_back(part);
            }
        }
        solver_.calls += calls;
        return status;
    }

    // Replaces the solution by the canonical structures and weights. False: no change, because they
    // were not found or are more than `most` (if not 0).
    bool make_canonical(const Scores& scores, Status status, int64_t most) {
        if (verdict(solver_, status) != Status::kSolved) return false;
        std::vector<double> w = preferences(family(), scores.shape);
        Decomposition chosen;
        bool found = decompose(solver_, w.data(), chosen);
        solver_.calls += chosen.calls;
        if (!found || (most > 0 && chosen.size() > most)) return false;
        Solver<Family> own = solver_;
        Block block;
        lay_out_active(block, chosen.size() + 2);
        if (!take_over(solver_, chosen)) {
            int calls = solver_.calls;
            solver_ = own;
            solver_.calls = calls;
            return false;
        }
        active_ = std::move(block);
        room_ = std::max(room_, solver_.set.codes.capacity);
        return true;
    }

    Status run(const double* theta, double range, Limits limits, bool crosses) {
        solver_.reset(theta, range, limits, crosses);
        room_ = std::max(room_, solver_.propose(Thread{}));
        lay_out_active(active_, room_);
        Status status;
        while ((status = solver_.run(Thread{})) == Status::kMoreRoom)
            if (!grow()) return solver_.end_early(Thread{});
        return status;
    }

    // Enlarges the capacity for active structures, by less than usual if memory is short; the
    // result must fit as well. False: there is no memory for more.
    bool grow() {
        Solver<Family> before = solver_;
        Block larger;
        int least = std::max(room_ + 1, solver_.room_needed()), room = next_room();
        if (room < least) room = least;
        while (!try_lay_out_active(larger, room, bytes_of_factor(room))) {
            solver_ = before;
            if (room == least) return false;
            room = least + (room - least) / 2;
        }
        room_ = room;
        solver_.set.copy(Thread{}, before.set);
        active_ = std::move(larger);
        return true;
    }

    void must_grow() {
        int room = solver_.room_needed();
        if (!grow()) fail_for_memory(bytes_of_factor(room), "a factor for " + counted(room));
    }

    // For many structures the capacity grows by a fraction, as memory is quadratic in it.
    int next_room() const {
        constexpr int kMany = 4096;
        return room_ + (room_ < kMany ? room_ / 2 + solver_.set.size() : room_ / 4);
    }

    static std::string counted(int structures) {
        return std::to_string(structures) + " structures,";
    }

    static int64_t bytes_of_factor(int64_t structures) {
        return Cholesky::packed(structures) * static_cast<int64_t>(sizeof(double));
    }

    void write(Status status, bool events, Solution& out) const {
        const Family& f = solver_.family();
        int k = solver_.set.size();
        int64_t event = events ? f.event_size() : 0, bytes = k * event * int64_t(sizeof(int64_t));
        if (!has_memory(bytes)) fail_for_memory(bytes, "a list of " + counted(k));
        out.events.reserve(static_cast<size_t>(k * event));
        for (int a = 0; a < k; ++a) out.append(f, solver_.set.codes.code(a), events);
        out.weights.assign(solver_.set.weights, solver_.set.weights + k);
        if (!has_memory(bytes_of_factor(k)))
            fail_for_memory(bytes_of_factor(k), "a factor for " + counted(k));
        out.factor.assign(solver_.set.factor.rows, solver_.set.factor.rows + Cholesky::packed(k));
        out.gap = solver_.gap > 0 ? solver_.gap : 0;
        out.status = verdict(solver_, status);
        out.calls = solver_.calls;
    }
};

}  // namespace sparsewood
