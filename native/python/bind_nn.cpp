// The elementwise parts of networks over sentences for Python.
#include "python/bind_nn.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "group/parallel.h"
#include "nn/lstm.h"
#include "nn/pairs_tanh.h"
#include "python/arrays.h"
#include "python/without_gil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sparsewood {

SPARSEWOOD_WIDE void run_step_up(const Lstm<float>& net, float* h, int64_t t) {
    lstm_step_up(net, h, t);
}

SPARSEWOOD_WIDE void run_step_down(const Lstm<float>& net, const float* on_h, const float* by_h,
                                   float* by_c, float* on_gates, int64_t t) {
    lstm_step_down(net, on_h, by_h, by_c, on_gates, t);
}

SPARSEWOOD_WIDE void run_score_pairs(const PairVectors& pairs, float* scores,
                                     std::vector<float>& padded) {
    score_pairs(pairs, scores, padded);
}

SPARSEWOOD_WIDE void run_pass_to_pairs(const PairVectors& pairs, const float* on_scores,
                                       float* on_heads, float* on_dependents, float* on_v) {
    pass_to_pairs(pairs, on_scores, on_heads, on_dependents, on_v);
}

namespace {

using Starts = In<int64_t, nb::ndim<1>>;
using Matrix = Out<float, nb::ndim<2>>;
using Table = Out<float, nb::ndim<3>>;

void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("expected ") + what);
}

bool has_shape(const Table& array, size_t rows, size_t columns) {
    return array.shape(0) == 2 && array.shape(1) == rows && array.shape(2) == columns;
}

int64_t check_lstm(const Starts& starts, const Table& gates, const Table& c) {
    size_t words = c.shape(1), hidden = c.shape(2);
    expect(starts.shape(0) > 0 && starts.data()[starts.shape(0) - 1] == static_cast<int64_t>(words),
           "starts (longest + 1,) up to the number of words");
    expect(has_shape(c, words, hidden), "c (2, words, H)");
    expect(has_shape(gates, words, 4 * hidden), "gates (2, words, 4 H)");
    return static_cast<int64_t>(starts.shape(0)) - 1;
}

Lstm<float> direction(const Starts& starts, const Table& gates, const Table& c, size_t which) {
    size_t words = c.shape(1), hidden = c.shape(2), at = which * words * hidden;
    return {starts.data(), static_cast<int64_t>(hidden), gates.data() + 4 * at, c.data() + at};
}

// As for the levels of a forest, the arrays are given once and the function is called for a word.

nb::object lstm_up_steps(Starts starts, Table gates, Table c, Table h) {
    int64_t steps = check_lstm(starts, gates, c);
    expect(has_shape(h, c.shape(1), c.shape(2)), "h (2, words, H)");
    return nb::cpp_function([=](int64_t t) {
        expect(0 <= t && t < steps, "a word of the longest sentence");
        nb::gil_scoped_release release;
        for (size_t which = 0; which < 2; ++which)
            run_step_up(direction(starts, gates, c, which),
                        h.data() + which * h.shape(1) * h.shape(2), t);
    });
}

nb::object lstm_down_steps(Starts starts, Table gates, Table c, Table on_h, Table by_h, Table by_c,
                           Table on_gates) {
    int64_t steps = check_lstm(starts, gates, c);
    size_t words = c.shape(1), hidden = c.shape(2);
    size_t sentences = steps > 0 ? static_cast<size_t>(starts.data()[1]) : 0;
    expect(has_shape(on_h, words, hidden), "on_h (2, words, H)");
    expect(has_shape(by_h, sentences, hidden) && has_shape(by_c, sentences, hidden),
           "by_h and by_c (2, sentences, H)");
    expect(has_shape(on_gates, words, 4 * hidden), "on_gates (2, words, 4 H)");
    return nb::cpp_function([=](int64_t t) {
        expect(0 <= t && t < steps, "a word of the longest sentence");
        nb::gil_scoped_release release;
        for (size_t which = 0; which < 2; ++which) {
            size_t at = which * words * hidden, carried = which * sentences * hidden;
            run_step_down(direction(starts, gates, c, which), on_h.data() + at,
                          by_h.data() + carried, by_c.data() + carried, on_gates.data() + 4 * at,
                          t);
        }
    });
}

PairVectors sentence(const Table& heads, const Table& dependents, const Out<float, nb::ndim<1>>& v,
                     int64_t b) {
    int64_t m = static_cast<int64_t>(heads.shape(1)), size = static_cast<int64_t>(v.shape(0));
    int64_t n = static_cast<int64_t>(dependents.shape(1));
    const float *from = heads.data() + b * m * size, *to = dependents.data() + b * n * size;
    return {from, to, v.data(), m, n, size};
}

void check_pairs(const Table& heads, const Table& dependents, const Out<float, nb::ndim<1>>& v,
                 const Table& scores) {
    expect(heads.shape(0) == dependents.shape(0) && heads.shape(2) == v.shape(0) &&
               dependents.shape(2) == v.shape(0),
           "heads (B, m, k), dependents (B, n, k) and v (k,)");
    expect(scores.shape(0) == heads.shape(0) && scores.shape(1) == dependents.shape(1) &&
               scores.shape(2) == heads.shape(1),
           "scores (B, n, m)");
}

void score_all_pairs(Table heads, Table dependents, Out<float, nb::ndim<1>> v, Table scores,
                     int threads) {
    check_pairs(heads, dependents, v, scores);
    size_t padded = (v.shape(0) + kLanes - 1) / kLanes * kLanes;
    int64_t each = static_cast<int64_t>(scores.shape(1) * scores.shape(2));
    without_gil([&] {
        for_each_instance(
            static_cast<int64_t>(heads.shape(0)), threads,
            [&] { return std::vector<float>(padded); },
            [&](std::vector<float>& terms, int64_t b) {
                run_score_pairs(sentence(heads, dependents, v, b), scores.data() + b * each, terms);
            });
    });
}

void pass_to_all_pairs(Table heads, Table dependents, Out<float, nb::ndim<1>> v, Table on_scores,
                       Table on_heads, Table on_dependents, Matrix on_v, int threads) {
    check_pairs(heads, dependents, v, on_scores);
    check_pairs(on_heads, on_dependents, v, on_scores);
    expect(on_v.shape(0) == heads.shape(0) && on_v.shape(1) == v.shape(0), "on_v (B, k)");
    int64_t size = static_cast<int64_t>(v.shape(0));
    int64_t n = static_cast<int64_t>(dependents.shape(1)), m = static_cast<int64_t>(heads.shape(1));
    without_gil([&] {
        for_each_instance(
            static_cast<int64_t>(heads.shape(0)), threads, [] { return 0; },
            [&](int, int64_t b) {
                run_pass_to_pairs(sentence(heads, dependents, v, b), on_scores.data() + b * n * m,
                                  on_heads.data() + b * m * size,
                                  on_dependents.data() + b * n * size, on_v.data() + b * size);
            });
    });
}

}  // namespace

void bind_nn(nb::module_& m) {
    m.def("lstm_up_steps", &lstm_up_steps, "starts"_a, "gates"_a.noconvert(), "c"_a.noconvert(),
          "h"_a.noconvert(), "A function (t) that computes the states of word t, both directions.");
    m.def("lstm_down_steps", &lstm_down_steps, "starts"_a, "gates"_a.noconvert(), "c"_a.noconvert(),
          "on_h"_a.noconvert(), "by_h"_a.noconvert(), "by_c"_a.noconvert(),
          "on_gates"_a.noconvert(), "A function (t) that passes the gradients of word t down.");
    m.def("score_pairs", &score_all_pairs, "heads"_a.noconvert(), "dependents"_a.noconvert(),
          "v"_a.noconvert(), "scores"_a.noconvert(), "threads"_a,
          "Writes v^T tanh(heads + dependents) for all pairs.");
    m.def("pass_to_pairs", &pass_to_all_pairs, "heads"_a.noconvert(), "dependents"_a.noconvert(),
          "v"_a.noconvert(), "on_scores"_a.noconvert(), "on_heads"_a.noconvert(),
          "on_dependents"_a.noconvert(), "on_v"_a.noconvert(), "threads"_a,
          "Adds the gradients of heads, dependents and v, of v for each sentence.");
}

}  // namespace sparsewood
