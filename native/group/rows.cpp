// Long rows on a CPU thread: the same results as the loops of thread.h, in vectors as wide as the
// machine has. Maxima and differences round alike at any width.
#include "group/group.h"
#include "group/wide.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"  // of vectors that no function call passes

namespace sparsewood {
namespace {

typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));

SPARSEWOOD_INLINE Four load(const double* p) { return *reinterpret_cast<const Four*>(p); }
SPARSEWOOD_INLINE Four larger(Four a, Four b) { return a > b ? a : b; }

}  // namespace

SPARSEWOOD_WIDE int argmax_row(const double* row, int n) {
    Four a = load(row + n - 4), b = a;
    int i = 0;
    for (; i + 8 <= n; i += 8) a = larger(load(row + i), a), b = larger(load(row + i + 4), b);
    if (i + 4 <= n) a = larger(load(row + i), a);
    a = larger(a, b);
    double low = a[0] > a[1] ? a[0] : a[1], high = a[2] > a[3] ? a[2] : a[3];
    const double best = low > high ? low : high;
    if (best == kForbidden) return -1;
    for (i = 0; i + 8 <= n; i += 8) {
        auto found = (load(row + i) == best) | (load(row + i + 4) == best);
        if ((found[0] | found[1]) | (found[2] | found[3])) break;
    }
    while (row[i] != best) ++i;
    return i;
}

SPARSEWOOD_WIDE void rebase_row(const double* row, double base, int n, double* out, bool first) {
    for (int i = 0; i < n; i += 4) {
        int at = i + 4 <= n ? i : n - 4;  // the last four overlap those before
        Four rebased = load(row + at) - base;
        *reinterpret_cast<Four*>(out + at) = first ? rebased : larger(rebased, load(out + at));
    }
}

}  // namespace sparsewood
#endif
