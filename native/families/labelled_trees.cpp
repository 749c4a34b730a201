#include "../labelled_trees.h"

#include "../families.h"
#include "../operations.h"

namespace sparsewood {

// options: projective, single_root
Operations labelled_trees(const Whole& options) {
    if (options.at(0))
        return options.at(1) ? operations_of<LabelledTrees<true, true>>()
                             : operations_of<LabelledTrees<true, false>>();
    return options.at(1) ? operations_of<LabelledTrees<false, true>>()
                         : operations_of<LabelledTrees<false, false>>();
}

}  // namespace sparsewood
