// Instances are distributed to threads one at a time. Each thread has its own worker, so a result
// depends only on its instance.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "group/interrupt.h"

namespace sparsewood {

// Counts the running threads, and waits until there are none.
class Crew {
  public:
    void join() {
        std::lock_guard<std::mutex> lock(mutex_);
        ++members_;
    }

    void leave() {
        std::lock_guard<std::mutex> lock(mutex_);
        if (--members_ == 0) empty_.notify_all();
    }

    // Checks for interrupts while waiting.
    void wait(Call& call) {
        std::unique_lock<std::mutex> lock(mutex_);
        while (!empty_.wait_for(lock, Call::kPause, [&] { return members_ == 0; })) {
            lock.unlock();
            call.ask();
            lock.lock();
        }
    }

  private:
    std::mutex mutex_;
    std::condition_variable empty_;
    int64_t members_ = 0;
};

// Calls work(worker, instance) for every instance. Threads live for one call, so nothing persists
// that a fork could break. If the system refuses to start a thread, the others do the work. The
// exception of the first failed instance is rethrown; Interrupted takes precedence.
template <class MakeWorker, class Work>
void for_each_instance(int64_t batch, int threads, MakeWorker make_worker, Work work) {
    Call call;
    std::atomic<int64_t> next{0};
    std::vector<std::exception_ptr> failures(static_cast<size_t>(batch));
    std::exception_ptr worker_failure;
    std::atomic<bool> failed{false};
    auto loop = [&] {
        Polled polled(call);
        try {
            auto worker = make_worker();
            for (int64_t b; !call.ended() && (b = next.fetch_add(1)) < batch;) {
                try {
                    poll();
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
    if (extra < 0) extra = 0;
    Crew crew;
    std::vector<std::thread> members;
    members.reserve(static_cast<size_t>(extra));
    for (int64_t t = 0; t < extra; ++t) {
        crew.join();
        try {
            members.emplace_back([&] {
                loop();
                crew.leave();
            });
        } catch (const std::exception&) {
            crew.leave();
            break;
        }
    }
    loop();
    crew.wait(call);
    for (auto& member : members) member.join();
    if (call.ended()) throw Interrupted{};
    for (auto& failure : failures)
        if (failure) std::rethrow_exception(failure);
    if (worker_failure) std::rethrow_exception(worker_failure);
}

}  // namespace sparsewood
