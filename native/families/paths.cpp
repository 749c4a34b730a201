#include "families/paths.h"

#include "group/fail.h"
#include "solver/registry.h"

namespace sparsewood {

// options: vertices, edges, then the tail, the head and the part of each edge
static Layout layout_of_paths(Sides n, const Whole& option) {
    bool fits = option.size() >= 5 && option[0] >= 2 && option[0] <= (1 << 30) &&
                option[1] * 3 + 2 == static_cast<int64_t>(option.size());
    for (size_t e = 2, before = 2; fits && e < option.size(); before = e, e += 3)
        fits = option[before] <= option[e] && option[e] >= 0 && option[e] < option[e + 1] &&
               option[e + 1] < option[0] && option[e + 2] >= 0 && option[e + 2] < n[0];
    if (!fits) fail("paths: expected a graph in topological order");
    return {{n[0]}, 1, 2};
}

SPARSEWOOD_FAMILY(paths, kAnyOptions, Paths)

}  // namespace sparsewood
