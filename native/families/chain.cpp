#include "families/chain.h"

#include "solver/registry.h"

namespace sparsewood {

// options: whether transitions are penalised
SPARSEWOOD_FAMILY(chain, Chain)

}  // namespace sparsewood
