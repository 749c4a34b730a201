#include "families/chain.h"

#include "solver/registry.h"

namespace sparsewood {

// options: whether transitions are penalised
static Layout layout_of_chain(Sides n, const Whole&) {
    return {{n[0], n[1], 1 + n[1]}, 1, n[1] * n[1]};
}

SPARSEWOOD_FAMILY(chain, 1, Chain)

}  // namespace sparsewood
