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

SPARSEWOOD_INLINE double largest(Four m) {
    double low = m[0] > m[1] ? m[0] : m[1], high = m[2] > m[3] ? m[2] : m[3];
    return low > high ? low : high;
}

// The largest entry seen in each of four columns, and its lowest index.
struct Largest {
    Four score, at;

    SPARSEWOOD_INLINE void see(const double* row, int i) {
        const Four lanes = {0, 1, 2, 3};
        Four x = load(row + i), here = lanes + static_cast<double>(i);
        at = x > score ? here : at;
        score = larger(x, score);
    }
};

}  // namespace

// In one pass, without branches on scores: the end of a search would be mispredicted.
SPARSEWOOD_WIDE int argmax_row(const double* row, int n) {
    const Four none = Four{} + 1e9, least = Four{} + kForbidden;
    Largest even{least, none}, odd{least, none};
    int i = 0;
    for (; i + 8 <= n; i += 8) even.see(row, i), odd.see(row, i + 4);
    if (i + 4 < n) even.see(row, i);
    odd.see(row, n - 4);
    const double best = largest(larger(even.score, odd.score));
    const Four top = Four{} + best;
    even.at = even.score == top ? even.at : none;
    odd.at = odd.score == top ? odd.at : none;
    return best == kForbidden ? -1 : static_cast<int>(-largest(larger(-even.at, -odd.at)));
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
