#include "families/semi_markov.h"

#include "solver/registry.h"

namespace sparsewood {

// options: the longest segment, whether transitions are penalised
SPARSEWOOD_FAMILY(semi_markov, SemiMarkov)

}  // namespace sparsewood
