// Python bindings of projections onto the permutahedron.
#include "python/bind_rankings.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include "group/parallel.h"
#include "python/arrays.h"
#include "python/without_gil.h"
#include "rankings/pools.h"
#include "rankings/spread.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sparsewood {
namespace {

// Indices outside of a row would write anywhere.
void check_order(const In<int64_t, nb::ndim<2>>& order) {
    int64_t n = static_cast<int64_t>(order.shape(1));
    for (size_t i = 0; i < order.size(); ++i)
        if (order.data()[i] < 0 || order.data()[i] >= n)
            throw std::invalid_argument("expected places from 0 to n - 1");
}

// Returns a row with NaN or infinite entries, or -1.
int64_t find_pools(In<double, nb::ndim<2>> x, Out<int64_t, nb::ndim<2>> pools, int threads) {
    int64_t n = static_cast<int64_t>(x.shape(1));
    if (pools.shape(0) != x.shape(0) || pools.shape(1) != x.shape(1))
        throw std::invalid_argument("expected x and pools (B, n)");
    const double* from = x.data();
    int64_t* to = pools.data();
    std::atomic<int64_t> bad{-1};
    without_gil([&] {
        for_each_instance(
            static_cast<int64_t>(x.shape(0)), threads, [] { return Pools(); },
            [&](Pools& find, int64_t b) {
                if (!find(from + b * n, n, to + b * n)) bad.store(b);
            });
    });
    return bad.load();
}

void find_means(In<double, nb::ndim<2>> x, In<int64_t, nb::ndim<2>> pools,
                Out<double, nb::ndim<2>> means) {
    int64_t n = static_cast<int64_t>(x.shape(1));
    for (size_t d = 0; d < 2; ++d)
        if (pools.shape(d) != x.shape(d) || means.shape(d) != x.shape(d))
            throw std::invalid_argument("expected x, pools and means (B, n)");
    int64_t size = static_cast<int64_t>(x.size());
    const double* from = x.data();
    const int64_t* where = pools.data();
    double* to = means.data();
    nb::gil_scoped_release release;
    for (int64_t i = 0; i < size; i += n) pool_means(from + i, where + i, n, to + i);
}

using Table = In<double, nb::ndim<2>>;
using Places = In<int64_t, nb::ndim<2>>;

// z: sorted. Returns a row with entries that are not finite, or -1.
int64_t soft_rank(Table z, Places order, double scale, Out<int64_t, nb::ndim<2>> pools,
                  Out<double, nb::ndim<2>> ranks, int threads) {
    int64_t n = static_cast<int64_t>(z.shape(1));
    for (size_t d = 0; d < 2; ++d)
        if (order.shape(d) != z.shape(d) || pools.shape(d) != z.shape(d) ||
            ranks.shape(d) != z.shape(d))
            throw std::invalid_argument("expected z, order, pools and ranks (B, n)");
    check_order(order);
    const double* from = z.data();
    std::atomic<int64_t> bad{-1};
    struct Worker {
        Pools find;
        std::vector<double> excess;
    };
    without_gil([&] {
        for_each_instance(
            static_cast<int64_t>(z.shape(0)), threads,
            [&] { return Worker{{}, std::vector<double>(static_cast<size_t>(n))}; },
            [&](Worker& worker, int64_t b) {
                const double* row = from + b * n;
                double level = row[n / 2];  // a large value in common would cost digits
                double* excess = worker.excess.data();
                for (int64_t i = 0; i < n; ++i)
                    excess[i] = scale * (row[i] - level) - static_cast<double>(i + 1);
                int64_t* own = pools.data() + b * n;
                if (worker.find(excess, n, own))
                    write_ranks(excess, own, order.data() + b * n, n,
                                ranks.data() + b * n);
                else
                    bad.store(b);
            });
    });
    return bad.load();
}

void centre_ranks(Table x, Places pools, Places order, double scale,
                  Out<double, nb::ndim<2>> out, int threads) {
    int64_t n = static_cast<int64_t>(x.shape(1));
    for (size_t d = 0; d < 2; ++d)
        if (order.shape(d) != x.shape(d) || pools.shape(d) != x.shape(d) ||
            out.shape(d) != x.shape(d))
            throw std::invalid_argument("expected x, pools, order and out (B, n)");
    check_order(order);
    without_gil([&] {
        for_each_instance(
            static_cast<int64_t>(x.shape(0)), threads, [] { return 0; },
            [&](int, int64_t b) {
                centre(x.data() + b * n, pools.data() + b * n, order.data() + b * n, n, scale,
                       out.data() + b * n);
            });
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
          "entry. Returns a row with entries that are not finite, or -1.");
    m.def("pool_means", &find_means, "x"_a, "pools"_a, "means"_a.noconvert(),
          "Writes the means of x (B, n) over its pools to all their entries.");
    m.def("soft_rank", &soft_rank, "z"_a, "order"_a, "scale"_a, "pools"_a.noconvert(),
          "ranks"_a.noconvert(), "threads"_a,
          "Writes the pools of `scale` times sorted z (B, n), and its soft ranks to the places in "
          "`order`. Returns a row with entries that are not finite, or -1.");
    m.def("centre_ranks", &centre_ranks, "x"_a, "pools"_a, "order"_a, "scale"_a,
          "out"_a.noconvert(), "threads"_a,
          "Writes `scale` times x (B, n) less its mean over each pool, in the order of x.");
    m.def("spread", &spread, "u"_a, "pools"_a, "rankings"_a.noconvert(), "weights"_a.noconvert(),
          "Writes rankings (K, n) whose mean with weights (K,) is the sorted point u (n,), and "
          "returns their number, at most K, the entries less the pools plus one.");
}

}  // namespace sparsewood
