#include "../alignment.h"

#include "../families.h"
#include "../operations.h"

namespace spinney {

// options: gaps
Operations alignment(const Whole& options) {
    return options.at(0) ? operations_of<GappedAlignment>() : operations_of<Warping>();
}

}  // namespace spinney
