#include "../alignment.h"

#include "../families.h"
#include "../operations.h"

namespace sparsewood {

// options: gaps
Operations alignment(const Whole& options) {
    return options.at(0) ? operations_of<GappedAlignment>() : operations_of<Warping>();
}

}  // namespace sparsewood
