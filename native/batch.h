// A batch on the CPU: instances are handed to threads one at a time, each thread with a
// workspace of its own, so an answer depends on nothing but its instance.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "solver.h"
#include "trees.h"

namespace spinney {

// Calls work(worker, instance) for every instance. Threads live for one call: nothing
// persists that a fork could break. The exception of the first instance that failed is rethrown.
template <class MakeWorker, class Work>
void for_each_instance(int64_t batch, int threads, MakeWorker make_worker, Work work) {
    std::atomic<int64_t> next{0};
    std::vector<std::exception_ptr> failures(static_cast<size_t>(batch));
    std::exception_ptr worker_failure;
    std::atomic<bool> failed{false};
    auto loop = [&] {
        try {
            auto worker = make_worker();
            for (int64_t b; (b = next.fetch_add(1)) < batch;) {
                try {
                    work(worker, b);
                } catch (...) {
                    failures[static_cast<size_t>(b)] = std::current_exception();
                }
            }
        } catch (...) {
            if (!failed.exchange(true)) worker_failure = std::current_exception();
        }
    };
    int64_t extra = (threads < batch ? threads : batch) - 1;
    std::vector<std::thread> crew;
    for (int64_t t = 0; t < extra; ++t) crew.emplace_back(loop);
    loop();
    for (auto& member : crew) member.join();
    for (auto& failure : failures)
        if (failure) std::rethrow_exception(failure);
    if (worker_failure) std::rethrow_exception(worker_failure);
}

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

// The scores of a padded batch, as the caller's array holds them.
struct TreeScores {
    const double* data;      // (batch, n, n + 1)
    const int64_t* lengths;  // (batch)
    int64_t batch;
    int64_t words;  // n

    std::string where(int64_t b, int i, int h) const {
        return "scores[" + std::to_string(b) + ", " + std::to_string(i) + ", " + std::to_string(h) +
               "] (arc " + std::to_string(h) + " -> " + std::to_string(i + 1) + ")";
    }

    std::string shapes(int64_t b) const {
        return "scores has shape (" + std::to_string(batch) + ", " + std::to_string(words) + ", " +
               std::to_string(words + 1) + "), instance " + std::to_string(b) + " has length " +
               std::to_string(lengths[b]);
    }

    int length(int64_t b) const {
        int64_t n = lengths[b];
        if (n < 1 || n > words)
            throw std::invalid_argument(
                "lengths[" + std::to_string(b) + "] is " + std::to_string(n) + ", expected 1 to " +
                std::to_string(words) + "; scores has shape (" + std::to_string(batch) + ", " +
                std::to_string(words) + ", " + std::to_string(words + 1) + ")");
        if (n > 30000)
            throw std::invalid_argument("sentences of more than 30000 words are not supported; " +
                                        shapes(b));
        return static_cast<int>(n);
    }

    // Copies instance b, divided by the temperature, to (length, length + 1). Each row is shifted
    // to maximum 0: every word has one head, so nothing changes but the rounding, and the arcs
    // that compete lose none of their digits to a large common score. Returns the range.
    double read(int64_t b, double temperature, double* out) const {
        int n = length(b);
        if (!(temperature > 0) || std::isinf(temperature))
            throw std::invalid_argument("temperature[" + std::to_string(b) + "] is " +
                                        std::to_string(temperature) +
                                        ", expected a positive finite number");
        double lowest = 0, highest = 0;
        bool any = false;
        for (int i = 0; i < n; ++i) {
            const double* row = data + (b * words + i) * (words + 1);
            double* to = out + int64_t(i) * (n + 1);
            double top = kForbidden;
            for (int h = 0; h <= n; ++h) {
                double s = h == i + 1 ? kForbidden : row[h] / temperature;
                if (!(s <= kLargest && (s >= -kLargest || s == kForbidden)))
                    reject(b, i, h, row[h]);
                to[h] = s;
                if (s > top) top = s;
                if (s == kForbidden) continue;
                if (!any || s < lowest) lowest = s;
                if (!any || s > highest) highest = s;
                any = true;
            }
            if (top == kForbidden)
                throw std::invalid_argument("instance " + std::to_string(b) +
                                            ": all heads of word " + std::to_string(i + 1) +
                                            " are forbidden (-inf); " + shapes(b));
            for (int h = 0; h <= n; ++h) to[h] -= top;
        }
        return highest - lowest;
    }

    [[noreturn]] void no_tree(int64_t b) const {
        throw std::invalid_argument("instance " + std::to_string(b) +
                                    ": the forbidden arcs (-inf) leave no tree; " + shapes(b));
    }

  private:
    // Sums of this many scores still fit in a double with room to spare.
    static constexpr double kLargest = 1e200;

    [[noreturn]] void reject(int64_t b, int i, int h, double score) const {
        const char* what = std::isnan(score)   ? " is NaN"
                           : std::isinf(score) ? " is +inf"
                                               : " / temperature is beyond 1e200";
        throw std::invalid_argument(where(b, i, h) + what + "; " + shapes(b));
    }
};

// The posterior of one instance.
struct Solution {
    int words = 0;
    std::vector<int16_t> codes;   // (size, words)
    std::vector<double> weights;  // (size)
    std::vector<double> factor;   // packed lower triangle
    double gap = 0;
    bool converged = false;
    int calls = 0;
    int64_t size() const { return static_cast<int64_t>(weights.size()); }
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
        limits.crosses = limits.max_iter == 0 && (limits.max_active == 0 || limits.max_active >= n);
        Status status = run(theta, range, limits);
        if (status == Status::kCapped && limits.crosses) {
            limits.crosses = false;
            status = run(theta, range, limits);
        }
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
    static constexpr int kFirstRoom = 64;
    Solver<Oracle> solver_;
    Block fixed_, active_;
    int room_ = 0;

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

    Status run(const double* theta, double range, Limits limits) {
        solver_.reset(theta, range, limits);
        room_ = kFirstRoom;
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
