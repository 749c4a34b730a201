// Shortest paths in grids for Python.
#include "python/bind_grid.h"

#include <stdexcept>

#include "families/grid_paths.h"
#include "group/parallel.h"
#include "python/arrays.h"
#include "python/without_gil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sparsewood {

namespace {

void find_grid_paths(In<double, nb::ndim<3>> scores, In<int64_t, nb::ndim<2>> sizes,
                        bool diagonal, Out<int64_t, nb::ndim<3>> cells, int threads) {
    if (sizes.shape(0) != scores.shape(0) || sizes.shape(1) != 2 || cells.size() != scores.size())
        throw std::invalid_argument("expected scores and cells (B, n, m) and sizes (B, 2)");
    int64_t n = static_cast<int64_t>(scores.shape(1)), m = static_cast<int64_t>(scores.shape(2));
    int64_t count = static_cast<int64_t>(scores.shape(0));
    const double* from = scores.data();
    const int64_t* size = sizes.data();
    for (int64_t b = 0; b < count; ++b)
        if (size[2 * b] < 1 || size[2 * b] > n || size[2 * b + 1] < 1 || size[2 * b + 1] > m)
            throw std::invalid_argument("expected sizes within the grid");
    int64_t* out = cells.data();
    without_gil([&] {
        for_each_instance(
            count, threads, [] { return GridPaths(); },
            [&](GridPaths& paths, int64_t b) {
                int64_t at = b * n * m;
                paths(from + at, size[2 * b], size[2 * b + 1], m, diagonal, out + at);
            });
    });
}

}  // namespace

void bind_grid(nb::module_& m) {
    m.def("grid_paths", &find_grid_paths, "scores"_a, "sizes"_a, "diagonal"_a,
          "cells"_a.noconvert(), "threads"_a,
          "Marks the best paths in cells, which are 0 before.");
}

}  // namespace sparsewood
