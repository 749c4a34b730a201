// Instances are handed to threads one at a time, each thread with a worker of its own, so an answer
// depends on nothing but its instance.
#include "batch.h"

#include <atomic>
#include <exception>
#include <thread>

#include "jacobian.h"
#include "worker.h"

namespace spinney {

namespace {

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

// Calls f with the oracle of a family.
template <class F>
void with_oracle(Family family, F f) {
    if (family.projective)
        family.single_root ? f(TreeOracle<true, true>{}) : f(TreeOracle<true, false>{});
    else
        family.single_root ? f(TreeOracle<false, true>{}) : f(TreeOracle<false, false>{});
}

}  // namespace

void argmax(const TreeScores& scores, Family family, int threads, int64_t* heads) {
    with_oracle(family, [&](auto oracle) {
        for_each_instance(
            scores.batch, threads, [] { return Worker<decltype(oracle)>(); },
            [&](auto& worker, int64_t b) {
                if (!worker.argmax(scores, b, heads + b * scores.words)) scores.no_tree(b);
            });
    });
}

std::vector<Solution> solve(const TreeScores& scores, const double* temperature, Family family,
                            Limits limits, int threads) {
    std::vector<Solution> solutions(static_cast<size_t>(scores.batch));
    with_oracle(family, [&](auto oracle) {
        for_each_instance(
            scores.batch, threads, [] { return Worker<decltype(oracle)>(); },
            [&](auto& worker, int64_t b) {
                worker.solve(scores, b, temperature[b], limits, solutions[static_cast<size_t>(b)]);
            });
    });
    return solutions;
}

void apply_jacobians(const TreePosteriors& p, const double* on_weights, const double* on_parts,
                     int threads, double* out_weights, double* out_parts) {
    size_t batch = static_cast<size_t>(p.batch);
    int64_t parts = p.words * (p.words + 1);
    std::vector<int64_t> first(batch + 1, 0), packed(batch + 1, 0);
    for (size_t b = 0; b < batch; ++b) {
        first[b + 1] = first[b] + p.sizes[b];
        packed[b + 1] = packed[b] + Factor::packed(p.sizes[b]);
    }
    for_each_instance(
        p.batch, threads, [] { return std::vector<double>(); },
        [&](std::vector<double>& ones, int64_t b) {
            size_t i = static_cast<size_t>(b), size = static_cast<size_t>(p.sizes[b]);
            if (ones.size() < size) ones.resize(size);
            apply_jacobian(Thread{}, p.structures + first[i] * p.words, static_cast<int>(size),
                           static_cast<int>(p.lengths[b]), p.words, p.factor + packed[i],
                           on_weights + first[i], on_parts + b * parts, out_weights + first[i],
                           out_parts + b * parts, ones.data());
        });
}

}  // namespace spinney
