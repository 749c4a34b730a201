#include "families/transport.h"

#include "group/fail.h"
#include "solver/registry.h"

namespace sparsewood {

// options: see Transport::set_size
static Layout layout_of_transport(Sides n, const Whole& option) {
    bool several = !option.empty() && option[0] % 2 != 0;
    size_t first = several ? 2 : 1;
    if (option.size() <= first || option[0] / 2 * 2 != static_cast<int64_t>(option.size() - first) ||
        (several && (option[1] < 1 || option[1] > 0x7fff)))
        fail("transport: expected bounds of rows and columns");
    for (size_t k = first; k < option.size(); ++k)
        if (int64_t least = option[k] & 0xffff, most = option[k] >> 16; least > most || most > 0x7fff)
            fail("transport: expected bounds of rows and columns");
    return {{n[0], n[1]}, 2, 2};
}

SPARSEWOOD_FAMILY(transport, kAnyOptions, Transport)

}  // namespace sparsewood
