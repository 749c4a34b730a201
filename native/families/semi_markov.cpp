#include "families/semi_markov.h"

#include "solver/registry.h"

namespace sparsewood {

// options: the longest segment, whether transitions are penalised
static Layout layout_of_semi_markov(Sides n, const Whole& option) {
    return {{n[0], n[1], option[0] + n[1]}, 1, n[1] * (1 + n[2])};
}

SPARSEWOOD_FAMILY(semi_markov, 2, SemiMarkov)

}  // namespace sparsewood
