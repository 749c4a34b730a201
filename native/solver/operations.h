// The operations on a batch, instantiated for one family.
#pragma once

#include "group/instances.h"
#include "solver/kbest.h"
#include "solver/worker.h"

#if defined(__wasm__)
#include "solver/any_family.h"
#endif

namespace sparsewood {

// The worker of a thread: one per family for speed, or shared by families for small size
// (WebAssembly).
template <class Family>
auto worker_of() {
#if defined(__wasm__)
    using Any = AnyFamily<Family::kEmpty>;
    Worker<Any> worker;
    worker.family() = Any(std::make_unique<ThatFamily<Family>>());
    return worker;
#else
    return Worker<Family>();
#endif
}

// Likewise what ranks the structures of an instance. In WebAssembly it asks the oracle alone.
template <class Family>
auto ranker_of() {
#if defined(__wasm__)
    using Any = AnyFamily<Family::kEmpty>;
    return Ranker<Any>(Any(std::make_unique<ThatFamily<Family>>()));
#else
    return Ranker<Family>(Family());
#endif
}

template <class MakeWorker>
void argmax_batch(MakeWorker make_worker, const Scores& scores, int threads, int64_t* events) {
    for_each_instance(scores.batch, threads, make_worker, [&](auto& worker, int64_t b) {
        tell_where([&] { return scores.shapes(b); }, [&] { worker.argmax(scores, b, events); });
    });
}

template <class MakeWorker>
std::vector<Solution> solve_batch(MakeWorker make_worker, const Scores& scores,
                                  const double* temperature, const Request& request, int threads) {
    std::vector<Solution> solutions(static_cast<size_t>(scores.batch));
    for_each_instance(scores.batch, threads, make_worker, [&](auto& worker, int64_t b) {
        tell_where([&] { return scores.shapes(b); }, [&] {
            worker.solve(scores, b, temperature[b], request, solutions[static_cast<size_t>(b)]);
        });
    });
    return solutions;
}

template <class MakeRanker>
std::vector<Ranking> kbest_batch(MakeRanker make_ranker, const Scores& scores, int64_t k,
                                 int threads) {
    std::vector<Ranking> rankings(static_cast<size_t>(scores.batch));
    for_each_instance(scores.batch, threads, make_ranker, [&](auto& ranker, int64_t b) {
        ranker.rank(scores, b, k, rankings[static_cast<size_t>(b)]);
    });
    return rankings;
}

template <class Family>
Operations operations_of() {
    return {[](auto... rest) { return argmax_batch(&worker_of<Family>, rest...); },
            [](auto... rest) { return kbest_batch(&ranker_of<Family>, rest...); },
            [](auto... rest) { return solve_batch(&worker_of<Family>, rest...); }};
}

}  // namespace sparsewood
