// The operations on a batch, made for one family.
#pragma once

#include "kbest.h"
#include "parallel.h"
#include "worker.h"

namespace sparsewood {

template <class Family>
void argmax_batch(const Scores& scores, int threads, int64_t* events) {
    for_each_instance(
        scores.batch, threads, [] { return Worker<Family>(); },
        [&](auto& worker, int64_t b) { worker.argmax(scores, b, events); });
}

template <class Family>
std::vector<Solution> solve_batch(const Scores& scores, const double* temperature, Limits limits,
                                  int threads) {
    std::vector<Solution> solutions(static_cast<size_t>(scores.batch));
    for_each_instance(
        scores.batch, threads, [] { return Worker<Family>(); },
        [&](auto& worker, int64_t b) {
            worker.solve(scores, b, temperature[b], limits, solutions[static_cast<size_t>(b)]);
        });
    return solutions;
}

template <class Family>
void kbest_batch(const Scores& scores, int k, int threads, int64_t* events, int64_t* found) {
    for_each_instance(
        scores.batch, threads, [] { return Worker<Family>(); },
        [&](auto& worker, int64_t b) {
            const double* table = worker.table(scores, b);
            int64_t size = worker.family().event_size();
            int64_t* out = events + b * k * size;
            BestFirst<Family> search(worker.family(), table);
            std::vector<int16_t> code;
            for (found[b] = 0; found[b] < k && search.next(code); ++found[b], out += size)
                worker.family().event(code.data(), out);
            if (found[b] == 0) scores.no_structure(b);
        });
}

template <class Family>
Operations operations_of() {
    return {argmax_batch<Family>, kbest_batch<Family>, solve_batch<Family>};
}

}  // namespace sparsewood
