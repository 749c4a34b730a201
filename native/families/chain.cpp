#include "chain.h"

#include "registry.h"

namespace sparsewood {

// options: whether transitions are penalised
SPARSEWOOD_FAMILY(chain, Chain)

}  // namespace sparsewood
