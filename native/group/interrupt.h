// Work that can be told to end.
//
// A call from Python runs without the GIL, so nobody hears a signal unless the call asks. Long
// loops poll(); on the thread that made the call that asks Python from time to time whether a
// signal's handler raised, and then all threads of the call leave by the exception Interrupted.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace sparsewood {

struct Interrupted {};

// Runs what waits for the calling thread, such as handlers of signals; true when it has to end.
// Set once by whoever the calls come from.
extern bool (*ask_caller)();

// One call: made on the thread that the caller waits on, before the work begins.
class Call {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds kPause{50};  // between two questions

    void poll() {
        if (ended()) throw Interrupted{};
        if (std::this_thread::get_id() != owner_) return;
        auto now = Clock::now();
        if (now - asked_ < kPause) return;
        ask();
        if (ended()) throw Interrupted{};
        asked_ = Clock::now();
    }

    // On the calling thread only.
    void ask() {
        if (!ended() && ask_caller && ask_caller()) ended_.store(true);
    }

    bool ended() const { return ended_.load(std::memory_order_relaxed); }

  private:
    std::atomic<bool> ended_{false};
    std::thread::id owner_ = std::this_thread::get_id();
    Clock::time_point asked_ = Clock::now();
};

// While it lives, poll() on this thread asks for `call`.
class Polled {
  public:
    explicit Polled(Call& call);
    ~Polled();
    Polled(const Polled&) = delete;
    Polled& operator=(const Polled&) = delete;

  private:
    Call* before_;
};

// Ends this thread's work by an exception if its call is to end.
void poll();

}  // namespace sparsewood
