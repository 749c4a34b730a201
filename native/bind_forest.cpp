// The forest and the TreeLSTM's elementwise part for Python.
#include "bind_forest.h"

#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "forest.h"
#include "tree_lstm.h"
#include "without_gil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sparsewood {

// Only the float kernels gain from wider vectors.
SPARSEWOOD_WIDE void run_up(const TreeLstm<float>& net, const float* products, float* h,
                            int64_t begin, int64_t end) {
    lstm_up(net, products, h, begin, end);
}

SPARSEWOOD_WIDE void run_down(const TreeLstm<float>& net, const float* on_h, float* on_c,
                              float* on_gates, float* on_products, int64_t begin, int64_t end) {
    lstm_down(net, on_h, on_c, on_gates, on_products, begin, end);
}

void run_up(const TreeLstm<double>& net, const double* products, double* h, int64_t begin,
            int64_t end) {
    lstm_up(net, products, h, begin, end);
}

void run_down(const TreeLstm<double>& net, const double* on_h, double* on_c, double* on_gates,
              double* on_products, int64_t begin, int64_t end) {
    lstm_down(net, on_h, on_c, on_gates, on_products, begin, end);
}

namespace {

using Indices = nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>;

// A NumPy array that takes the vector over.
Indices hand_over(std::vector<int64_t>& values) {
    auto* owned = new std::vector<int64_t>(std::move(values));
    nb::capsule owner(owned,
                      [](void* p) noexcept { delete static_cast<std::vector<int64_t>*>(p); });
    return Indices(owned->data(), {owned->size()}, owner);
}

std::tuple<Indices, Indices, Indices, Indices, Indices, Indices, Indices, int64_t> build_forest(
    In<int64_t, nb::ndim<2>> heads, In<int64_t, nb::ndim<1>> lengths,
    In<int64_t, nb::ndim<1>> instance) {
    if (instance.shape(0) != heads.shape(0))
        throw std::invalid_argument("expected heads (T, n) and instance (T,)");
    TreeBatch trees{heads.data(),
                    lengths.data(),
                    instance.data(),
                    static_cast<int64_t>(heads.shape(0)),
                    static_cast<int64_t>(heads.shape(1)),
                    static_cast<int64_t>(lengths.shape(0))};
    SharedForest forest;
    without_gil([&] {
        Call call;
        Polled polled(call);
        forest = ForestBuilder(trees).build();
    });
    return {hand_over(forest.words),         hand_over(forest.row),
            hand_over(forest.child_offsets), hand_over(forest.children),
            hand_over(forest.parents),       hand_over(forest.roots),
            hand_over(forest.level_offsets), forest.tree_nodes};
}

using Ids = In<int64_t, nb::ndim<1>>;
template <class Real>
using Matrix = Out<Real, nb::ndim<2>>;

void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("expected ") + what);
}

// Below, the arrays of a pass are given once, and the function that comes back is called for each
// level: importing an array takes longer than the work on a small level.

template <class Real>
struct LstmArrays {
    Ids child_offsets, children;
    Matrix<Real> gates, forget, c;

    size_t nodes() const { return c.shape(0); }
    size_t hidden() const { return c.shape(1); }

    TreeLstm<Real> view() const {
        return {child_offsets.data(), children.data(), static_cast<int64_t>(hidden()),
                gates.data(),         forget.data(),   c.data()};
    }

    void check() const {
        expect(child_offsets.shape(0) == nodes() + 1, "child_offsets (N + 1,)");
        expect(is(gates, nodes(), 4), "gates (N, 4 H)");
        expect(is(forget, children.shape(0), 1), "forget (E, H)");
    }

    bool is(const Matrix<Real>& array, size_t rows, size_t blocks) const {
        return array.shape(0) == rows && array.shape(1) == blocks * hidden();
    }

    void check_level(int64_t begin, int64_t end) const {
        expect(0 <= begin && begin <= end && end <= static_cast<int64_t>(nodes()), "0..N nodes");
    }
};

template <class Real>
nb::object lstm_up_levels(Ids child_offsets, Ids children, Matrix<Real> gates, Matrix<Real> forget,
                          Matrix<Real> c, Matrix<Real> products, Matrix<Real> h) {
    LstmArrays<Real> net{child_offsets, children, gates, forget, c};
    net.check();
    expect(net.is(products, products.shape(0), 1), "products (., H)");
    expect(net.is(h, net.nodes(), 1), "h (N, H)");
    return nb::cpp_function([net, products, h](int64_t begin, int64_t end) {
        net.check_level(begin, end);
        nb::gil_scoped_release release;
        run_up(net.view(), products.data(), h.data(), begin, end);
    });
}

template <class Real>
nb::object lstm_down_levels(Ids child_offsets, Ids children, Matrix<Real> gates,
                            Matrix<Real> forget, Matrix<Real> c, Matrix<Real> on_h,
                            Matrix<Real> on_c, Matrix<Real> on_gates, Matrix<Real> on_products) {
    LstmArrays<Real> net{child_offsets, children, gates, forget, c};
    net.check();
    expect(net.is(on_h, net.nodes(), 1), "on_h (N, H)");
    expect(net.is(on_c, net.nodes(), 1), "on_c (N, H)");
    expect(net.is(on_gates, net.nodes(), 4), "on_gates (N, 4 H)");
    expect(net.is(on_products, on_products.shape(0), 1), "on_products (., H)");
    return nb::cpp_function([net, on_h, on_c, on_gates, on_products](int64_t begin, int64_t end) {
        net.check_level(begin, end);
        nb::gil_scoped_release release;
        run_down(net.view(), on_h.data(), on_c.data(), on_gates.data(), on_products.data(), begin,
                 end);
    });
}

template <class Real>
nb::object add_rows_levels(Matrix<Real> out, Ids to, Matrix<Real> values, Ids from) {
    expect(out.shape(1) == values.shape(1), "out and values of as many columns");
    expect(to.shape(0) == from.shape(0), "to and from of one length");
    return nb::cpp_function([out, to, values, from](int64_t begin, int64_t end) {
        expect(0 <= begin && begin <= end && end <= static_cast<int64_t>(to.shape(0)),
               "0..E edges");
        nb::gil_scoped_release release;
        add_rows(out.data(), to.data(), static_cast<const Real*>(values.data()), from.data(),
                 static_cast<int64_t>(out.shape(1)), begin, end);
    });
}

template <class Real>
void bind_levels(nb::module_& m) {
    m.def("lstm_up_levels", &lstm_up_levels<Real>, "child_offsets"_a, "children"_a,
          "gates"_a.noconvert(), "forget"_a.noconvert(), "c"_a.noconvert(),
          "products"_a.noconvert(), "h"_a.noconvert(),
          "A function (begin, end) that computes the states of these nodes.");
    m.def("lstm_down_levels", &lstm_down_levels<Real>, "child_offsets"_a, "children"_a,
          "gates"_a.noconvert(), "forget"_a.noconvert(), "c"_a.noconvert(), "on_h"_a.noconvert(),
          "on_c"_a.noconvert(), "on_gates"_a.noconvert(), "on_products"_a.noconvert(),
          "A function (begin, end) that passes the gradients of these nodes down.");
    m.def("add_rows_levels", &add_rows_levels<Real>, "out"_a.noconvert(), "to"_a,
          "values"_a.noconvert(), "from_"_a,
          "A function (begin, end): out[to[e]] += values[from_[e]] for these edges.");
}

}  // namespace

void bind_forest(nb::module_& m) {
    m.def("build_forest", &build_forest, "heads"_a, "lengths"_a, "instance"_a,
          "(words, row, child_offsets, children, parents, roots, level_offsets, tree_nodes).");
    bind_levels<float>(m);
    bind_levels<double>(m);
}

}  // namespace sparsewood
