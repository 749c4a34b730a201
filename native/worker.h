// What one CPU thread works with: a solver and its memory.
#pragma once

#include <memory>
#include <utility>

#include "batch.h"
#include "trees.h"

namespace spinney {

// Uninitialised memory, aligned for Arena.
class Block {
  public:
    char* reserve(int64_t bytes) {
        if (bytes > size_) {
            data_.reset(new char[static_cast<size_t>(bytes) + 64]);
            size_ = bytes;
        }
        auto address = reinterpret_cast<uintptr_t>(data_.get());
        return reinterpret_cast<char*>((address + 63) / 64 * 64);
    }

  private:
    std::unique_ptr<char[]> data_;
    int64_t size_ = 0;
};

// One thread's solver with the memory it works in.
template <class Oracle>
class Worker {
  public:
    void solve(const TreeScores& scores, int64_t b, double temperature, Limits limits,
               Solution& out) {
        int n = scores.length(b);
        double* theta = lay_out(n);
        double range = scores.read(b, temperature, theta);
        // A cap that binds is filled best by the oracle's structures alone; one below n is sure to.
        bool crosses = limits.max_iter == 0 && (limits.max_active == 0 || limits.max_active >= n);
        Status status = run(theta, range, limits, crosses);
        if (status == Status::kCapped && crosses) status = run(theta, range, limits, false);
        if (status == Status::kNoStructure) scores.no_tree(b);
        write(status, range, limits.tol, out);
    }

    bool argmax(const TreeScores& scores, int64_t b, int64_t* heads) {
        int n = scores.length(b);
        double* theta = lay_out(n);
        scores.read(b, 1.0, theta);
        if (!solver_.oracle(Thread{}, theta, solver_.entering)) return false;
        for (int i = 0; i < scores.words; ++i) heads[i] = i < n ? solver_.entering[i] : -1;
        return true;
    }

  private:
    Solver<Oracle> solver_;
    Block fixed_, active_;
    int room_ = 64;  // for active structures; what one instance needed the next ones find

    double* lay_out(int n) {
        Arena measure{nullptr};
        solver_.lay_out(measure, n, n + 1);
        measure.take<double>(int64_t(n) * (n + 1));
        Arena arena{fixed_.reserve(measure.used)};
        solver_.lay_out(arena, n, n + 1);
        return arena.take<double>(int64_t(n) * (n + 1));
    }

    void lay_out_active(Block& block, int room) {
        Arena measure{nullptr};
        solver_.lay_out_active(measure, room);
        Arena arena{block.reserve(measure.used)};
        solver_.lay_out_active(arena, room);
    }

    Status run(const double* theta, double range, Limits limits, bool crosses) {
        solver_.reset(theta, range, limits, crosses);
        lay_out_active(active_, room_);
        Status status;
        while ((status = solver_.run(Thread{})) == Status::kMoreRoom) grow();
        return status;
    }

    void grow() {
        Solver<Oracle> before = solver_;
        Block larger;
        lay_out_active(larger, room_ += room_ / 2 + solver_.size());
        solver_.copy_active(before);
        active_ = std::move(larger);
    }

    void write(Status status, double range, double tol, Solution& out) const {
        int k = solver_.size();
        out.words = solver_.slots;
        out.codes.clear();
        for (int a = 0; a < k; ++a)
            out.codes.insert(out.codes.end(), solver_.code(a), solver_.code(a) + solver_.slots);
        out.weights.assign(solver_.weights, solver_.weights + k);
        out.factor.assign(solver_.factor.rows, solver_.factor.rows + Factor::packed(k));
        out.gap = solver_.gap > 0 ? solver_.gap : 0;
        out.converged = status == Status::kSolved ||
                        (status == Status::kStalled && out.gap <= tol * (range > 1 ? range : 1));
        out.calls = solver_.calls;
    }
};

}  // namespace spinney
