// Instances are handed to threads one at a time, each thread with a worker of its own, so an answer
// depends on nothing but its instance.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace sparsewood {

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

}  // namespace sparsewood
