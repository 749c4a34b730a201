// Python bindings of projections onto the permutahedron.
#include "python/bind_rankings.h"

#include <stdexcept>

#include "group/parallel.h"
#include "python/arrays.h"
#include "python/without_gil.h"
#include "rankings/pools.h"
#include "rankings/spread.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sparsewood {
namespace {

void find_pools(In<double, nb::ndim<2>> x, Out<int64_t, nb::ndim<2>> pools, int threads) {
    int64_t n = static_cast<int64_t>(x.shape(1));
    if (pools.shape(0) != x.shape(0) || pools.shape(1) != x.shape(1))
        throw std::invalid_argument("expected x and pools (B, n)");
    const double* from = x.data();
    int64_t* to = pools.data();
    without_gil([&] {
        for_each_instance(
            static_cast<int64_t>(x.shape(0)), threads, [] { return Pools(); },
            [&](Pools& find, int64_t b) { find(from + b * n, n, to + b * n); });
    });
}

int64_t spread(In<double, nb::ndim<1>> u, In<int64_t, nb::ndim<1>> pools,
               Out<int64_t, nb::ndim<2>> rankings, Out<double, nb::ndim<1>> weights) {
    size_t n = u.shape(0), most = n + 1;
    for (size_t i = 0; i < pools.shape(0); ++i) most -= pools.data()[i] == static_cast<int64_t>(i);
    if (pools.shape(0) != n || rankings.shape(0) != most || rankings.shape(1) != n ||
        weights.shape(0) != most)
        throw std::invalid_argument("expected u, pools (n,), rankings (K, n), weights (K,)");
    int64_t found = 0;
    without_gil([&] {
        for_each_instance(
            1, 1, [] { return Spread(); },
            [&](Spread& find, int64_t) {
                found = find(u.data(), pools.data(), static_cast<int64_t>(n), rankings.data(),
                             weights.data());
            });
    });
    return found;
}

}  // namespace

void bind_rankings(nb::module_& m) {
    m.def("find_pools", &find_pools, "x"_a, "pools"_a.noconvert(), "threads"_a,
          "Isotonic regression of the rows of x (B, n): writes the first entry of the pool of each "
          "entry.");
    m.def("spread", &spread, "u"_a, "pools"_a, "rankings"_a.noconvert(), "weights"_a.noconvert(),
          "Writes rankings (K, n) whose mean with weights (K,) is the sorted point u (n,), and "
          "returns their number, at most K, the entries less the pools plus one.");
}

}  // namespace sparsewood
