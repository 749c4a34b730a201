// Python bindings of the forest and the elementwise part of the TreeLSTM.
#include "python/bind_forest.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "forest/forest.h"
#include "nn/tree_lstm.h"
#include "python/arrays.h"
#include "python/without_gil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sparsewood {

// Only the float kernels gain from wider vectors.
SPARSEWOOD_WIDE void run_up(const TreeLstm<float>& net, const float* inputs, const float* products,
                            float* h, float* sums, int64_t begin, int64_t end, int64_t next) {
    lstm_up(net, inputs, products, h, begin, end);
    sum_children(net, static_cast<const float*>(h), sums, end, next);
}

SPARSEWOOD_WIDE void run_collect(const TreeLstm<float>& net, const OnTreeLstm<float>& on,
                                 int64_t begin, int64_t end) {
    lstm_collect(net, on, begin, end);
}

SPARSEWOOD_WIDE void run_down(const TreeLstm<float>& net, const OnTreeLstm<float>& on,
                              int64_t begin, int64_t end) {
    lstm_down(net, on, begin, end);
}

void run_up(const TreeLstm<double>& net, const double* inputs, const double* products, double* h,
            double* sums, int64_t begin, int64_t end, int64_t next) {
    lstm_up(net, inputs, products, h, begin, end);
    sum_children(net, static_cast<const double*>(h), sums, end, next);
}

void run_collect(const TreeLstm<double>& net, const OnTreeLstm<double>& on, int64_t begin,
                 int64_t end) {
    lstm_collect(net, on, begin, end);
}

void run_down(const TreeLstm<double>& net, const OnTreeLstm<double>& on, int64_t begin,
              int64_t end) {
    lstm_down(net, on, begin, end);
}

namespace {

using Indices = nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>;

// A NumPy array that takes ownership of the vector.
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

// Below, the arrays of a pass are given once, and the returned function is called for each level:
// importing an array takes longer than the work on a small level.

template <class Real>
struct LstmArrays {
    Ids row, child_offsets, children;
    Matrix<Real> gates, forget, c;

    int64_t nodes() const { return static_cast<int64_t>(c.shape(0)); }
    int64_t edges() const { return static_cast<int64_t>(children.shape(0)); }

    TreeLstm<Real> view() const {
        return {
            row.data(),   child_offsets.data(), children.data(), static_cast<int64_t>(c.shape(1)),
            gates.data(), forget.data(),        c.data()};
    }

    void check() const {
        expect(row.shape(0) == c.shape(0), "row (N,)");
        expect(child_offsets.shape(0) == c.shape(0) + 1, "child_offsets (N + 1,)");
        expect(is(gates, nodes(), 3), "gates (N, 3 H)");
        expect(is(forget, edges(), 1), "forget (E, H)");
    }

    bool is(const Matrix<Real>& array, int64_t rows, size_t blocks) const {
        return static_cast<int64_t>(array.shape(0)) == rows &&
               array.shape(1) == blocks * c.shape(1);
    }

    bool has_columns(const Matrix<Real>& array, size_t blocks) const {
        return array.shape(1) == blocks * c.shape(1);
    }

    void check_level(int64_t begin, int64_t end) const {
        expect(0 <= begin && begin <= end && end <= nodes(), "0..N nodes");
    }
};

template <class Real>
nb::object lstm_up_levels(Ids row, Ids child_offsets, Ids children, Matrix<Real> inputs,
                          Matrix<Real> products, Matrix<Real> h, Matrix<Real> gates,
                          Matrix<Real> sums, Matrix<Real> forget, Matrix<Real> c) {
    LstmArrays<Real> net{row, child_offsets, children, gates, forget, c};
    net.check();
    expect(net.has_columns(inputs, 4), "inputs (., 4 H)");
    expect(net.has_columns(products, 1), "products (., H)");
    expect(net.is(h, net.nodes(), 1), "h (N, H)");
    expect(net.is(sums, net.nodes(), 1), "sums (N, H)");
    return nb::cpp_function([=](int64_t begin, int64_t end, int64_t next) {
        net.check_level(begin, end);
        net.check_level(end, next);
        nb::gil_scoped_release release;
        run_up(net.view(), inputs.data(), products.data(), h.data(), sums.data(), begin, end, next);
    });
}

// Further state of a backward pass. Inputs without a node get no gradient.
template <class Real>
struct DownState {
    EdgesAbove above;
    std::vector<unsigned char> reached;

    DownState(const LstmArrays<Real>& net, const Matrix<Real>& on_inputs)
        : above(net.children.data(), net.edges(), net.nodes()), reached(on_inputs.shape(0), 1) {
        for (int64_t j = 0; j < net.nodes(); ++j)
            reached[static_cast<size_t>(net.row.data()[j])] = 0;
        const size_t columns = on_inputs.shape(1);
        for (size_t row = 0; row < reached.size(); ++row)
            if (reached[row]) std::fill_n(on_inputs.data() + row * columns, columns, Real(0));
    }
};

template <class Real>
std::pair<nb::object, nb::object> lstm_down_levels(
    Ids row, Ids child_offsets, Ids children, Ids parents, Matrix<Real> given, Matrix<Real> gates,
    Matrix<Real> forget, Matrix<Real> c, Matrix<Real> on_h, Matrix<Real> on_c,
    Matrix<Real> on_gates, Matrix<Real> on_products, Matrix<Real> on_inputs) {
    LstmArrays<Real> net{row, child_offsets, children, gates, forget, c};
    net.check();
    expect(parents.shape(0) == children.shape(0), "parents (E,)");
    for (const auto& array : {given, on_h, on_c})
        expect(net.is(array, net.nodes(), 1), "gradients (N, H)");
    expect(net.is(on_gates, net.nodes(), 3), "on_gates (N, 3 H)");
    expect(net.has_columns(on_products, 1), "on_products (., H)");
    expect(net.has_columns(on_inputs, 4), "on_inputs (., 4 H)");
    auto state = std::make_shared<DownState<Real>>(net, on_inputs);
    auto view = [=]() -> OnTreeLstm<Real> {
        return {parents.data(),
                state->above.offsets.data(),
                state->above.edges.data(),
                given.data(),
                on_h.data(),
                on_c.data(),
                on_gates.data(),
                on_products.data(),
                on_inputs.data(),
                state->reached.data()};
    };
    auto collect = [=](int64_t begin, int64_t end) {
        net.check_level(begin, end);
        nb::gil_scoped_release release;
        run_collect(net.view(), view(), begin, end);
    };
    auto down = [=](int64_t begin, int64_t end) {
        net.check_level(begin, end);
        nb::gil_scoped_release release;
        run_down(net.view(), view(), begin, end);
    };
    return {nb::cpp_function(collect), nb::cpp_function(down)};
}

template <class Real>
void bind_levels(nb::module_& m) {
    m.def("lstm_up_levels", &lstm_up_levels<Real>, "row"_a, "child_offsets"_a, "children"_a,
          "inputs"_a.noconvert(), "products"_a.noconvert(), "h"_a.noconvert(),
          "gates"_a.noconvert(), "sums"_a.noconvert(), "forget"_a.noconvert(), "c"_a.noconvert(),
          "A function (begin, end, next): the states of nodes begin:end, the sums of end:next.");
    m.def("lstm_down_levels", &lstm_down_levels<Real>, "row"_a, "child_offsets"_a, "children"_a,
          "parents"_a, "given"_a.noconvert(), "gates"_a.noconvert(), "forget"_a.noconvert(),
          "c"_a.noconvert(), "on_h"_a.noconvert(), "on_c"_a.noconvert(), "on_gates"_a.noconvert(),
          "on_products"_a.noconvert(), "on_inputs"_a.noconvert(),
          "Two functions (begin, end): collect the gradients of these nodes, pass them down.");
}

}  // namespace

void bind_forest(nb::module_& m) {
    m.def("build_forest", &build_forest, "heads"_a, "lengths"_a, "instance"_a,
          "(words, row, child_offsets, children, parents, roots, level_offsets, tree_nodes).");
    bind_levels<float>(m);
    bind_levels<double>(m);
}

}  // namespace sparsewood
