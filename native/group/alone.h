// parallel.h for a single thread.
#pragma once

#include <cstdint>

namespace sparsewood {

// Calls work(worker, instance) for every instance.
template <class MakeWorker, class Work>
void for_each_instance(int64_t batch, int, MakeWorker make_worker, Work work) {
    auto worker = make_worker();
    for (int64_t b = 0; b < batch; ++b) work(worker, b);
}

}  // namespace sparsewood
