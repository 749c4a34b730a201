#include "../semi_markov.h"

#include "../families.h"
#include "../operations.h"

namespace sparsewood {

// options: the longest segment, whether transitions are penalised
Operations semi_markov(const Whole&) { return operations_of<SemiMarkov>(); }

}  // namespace sparsewood
