// Interruptible work.
//
// A call from Python runs without the GIL, so it must check for signals itself. Long loops call
// poll(). On the calling thread, poll() occasionally asks Python whether a signal handler raised;
// then all threads of the call end with the exception Interrupted.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace sparsewood {

struct Interrupted {};

// Runs pending signal handlers and the like on the calling thread; true if the call must end. Set
// once by the language binding.
extern bool (*ask_caller)();

// One call, constructed on the calling thread before the work begins.
class Call {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds kPause{50};  // between two checks

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

// During its lifetime, poll() on this thread checks `call`.
class Polled {
  public:
    explicit Polled(Call& call);
    ~Polled();
    Polled(const Polled&) = delete;
    Polled& operator=(const Polled&) = delete;

  private:
    Call* before_;
};

// Throws if the call of this thread must end.
void poll();

}  // namespace sparsewood
