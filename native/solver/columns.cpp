// Forward substitution for many right-hand sides at once.
#include "group/group.h"
#include "group/wide.h"

namespace sparsewood {
namespace {

constexpr int kRows = 4, kColumns = 8;

#if defined(__GNUC__)
typedef double Columns __attribute__((vector_size(8 * kColumns), aligned(8), may_alias));
#else
struct Columns {
    double v[kColumns];
    friend Columns operator*(double s, Columns x) {
        for (double& e : x.v) e *= s;
        return x;
    }
    Columns& operator+=(const Columns& o) {
        for (int c = 0; c < kColumns; ++c) v[c] += o.v[c];
        return *this;
    }
    Columns& operator-=(const Columns& o) {
        for (int c = 0; c < kColumns; ++c) v[c] -= o.v[c];
        return *this;
    }
};
#endif

}  // namespace

// x <- L^-1 x with L (n, n) packed by rows, with inverted diagonal, and x (n, width). Rows of L are
// applied four at a time to kColumns columns of x. Every entry is summed in a fixed order, so the
// result does not depend on the vector width of the machine.
SPARSEWOOD_WIDE void solve_columns(const double* rows, int n, double* x, int width) {
    for (int b = 0; b < n; b += kRows) {
        int count = n - b < kRows ? n - b : kRows;
        const double* l[kRows];
        for (int r = 0; r < kRows; ++r) {
            int64_t i = r < count ? b + r : b;
            l[r] = rows + i * (i + 1) / 2;
        }
        for (int w = 0; w < width; w += kColumns) {
            Columns known[kRows] = {};
            const double* from = x + w;
            for (int p = 0; p < b; ++p, from += width) {
                Columns v = *reinterpret_cast<const Columns*>(from);
                for (int r = 0; r < kRows; ++r) known[r] += l[r][p] * v;
            }
            double* to = x + int64_t(b) * width + w;
            for (int r = 0; r < count; ++r) {
                Columns& v = *reinterpret_cast<Columns*>(to + int64_t(r) * width);
                v -= known[r];
                for (int p = 0; p < r; ++p)
                    v -= l[r][b + p] * *reinterpret_cast<const Columns*>(to + int64_t(p) * width);
                v = l[r][b + r] * v;
            }
        }
    }
}

}  // namespace sparsewood
