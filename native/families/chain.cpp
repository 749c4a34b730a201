#include "../chain.h"

#include "../families.h"
#include "../operations.h"

namespace spinney {

Operations chain(const Whole&) { return operations_of<Chain>(); }

}  // namespace spinney
