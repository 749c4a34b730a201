#include "../matching.h"

#include "../families.h"
#include "../operations.h"

namespace sparsewood {

// options: partial
Operations matching(const Whole& options) {
    return options.at(0) ? operations_of<Matching<true>>() : operations_of<Matching<false>>();
}

}  // namespace sparsewood
