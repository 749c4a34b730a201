#include "../simplex.h"

#include "../families.h"
#include "../operations.h"

namespace sparsewood {

// options: none
Operations simplex(const Whole&) { return operations_of<Simplex>(); }

}  // namespace sparsewood
