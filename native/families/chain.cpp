#include "../chain.h"

#include "../families.h"
#include "../operations.h"

namespace sparsewood {

Operations chain(const Whole&) { return operations_of<Chain>(); }

}  // namespace sparsewood
