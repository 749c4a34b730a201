// The operations on a batch, made for one family.
#pragma once

#include "kbest.h"
#include "instances.h"
#include "worker.h"

namespace sparsewood {

template <class Family>
void argmax_batch(const Scores& scores, int threads, int64_t* events) {
    for_each_instance(
        scores.batch, threads, [] { return Worker<Family>(); },
        [&](auto& worker, int64_t b) { worker.argmax(scores, b, events); });
}

template <class Family>
std::vector<Solution> solve_batch(const Scores& scores, const double* temperature,
                                  const Request& request, int threads) {
    std::vector<Solution> solutions(static_cast<size_t>(scores.batch));
    for_each_instance(
        scores.batch, threads, [] { return Worker<Family>(); },
        [&](auto& worker, int64_t b) {
            worker.solve(scores, b, temperature[b], request, solutions[static_cast<size_t>(b)]);
        });
    return solutions;
}

template <class Family>
std::vector<Ranking> kbest_batch(const Scores& scores, int64_t k, int threads) {
    std::vector<Ranking> rankings(static_cast<size_t>(scores.batch));
    for_each_instance(
        scores.batch, threads, [] { return Worker<Family>(); },
        [&](auto& worker, int64_t b) {
            const double* table = worker.table(scores, b);
            Ranking& ranking = rankings[static_cast<size_t>(b)];
            BestFirst<Family> search(worker.family(), table);
            std::vector<int16_t> code;
            for (int64_t found = 0; found < k && search.next(code); ++found)
                ranking.append(worker.family(), code.data());
            if (ranking.part_counts.empty()) scores.no_structure(b);
            ranking.calls = search.calls();
        });
    return rankings;
}

template <class Family>
Operations operations_of() {
    return {argmax_batch<Family>, kbest_batch<Family>, solve_batch<Family>};
}

}  // namespace sparsewood
