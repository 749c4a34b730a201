#include "semi_markov.h"

#include "registry.h"

namespace sparsewood {

// options: the longest segment, whether transitions are penalised
SPARSEWOOD_FAMILY(semi_markov, SemiMarkov)

}  // namespace sparsewood
