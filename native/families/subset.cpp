#include "../subset.h"

#include "../families.h"
#include "../operations.h"

namespace sparsewood {

// options: the fewest and the most items, -1 for all
Operations subset(const Whole&) { return operations_of<Subset>(); }

}  // namespace sparsewood
