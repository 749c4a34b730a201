#include "../trees.h"

#include "../families.h"
#include "../operations.h"

namespace sparsewood {

// options: projective, single_root
Operations trees(const Whole& options) {
    if (options.at(0))
        return options.at(1) ? operations_of<Trees<true, true>>()
                             : operations_of<Trees<true, false>>();
    return options.at(1) ? operations_of<Trees<false, true>>()
                         : operations_of<Trees<false, false>>();
}

}  // namespace sparsewood
