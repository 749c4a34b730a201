// Python bindings of the elementwise parts of networks over sentences.
#include "python/bind_nn.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "group/parallel.h"
#include "nn/pairs_tanh.h"
#include "python/arrays.h"
#include "python/without_gil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sparsewood {

SPARSEWOOD_WIDE void run_score_pairs(const PairVectors& pairs, float* scores,
                                     std::vector<float>& padded) {
    score_pairs(pairs, scores, padded);
}

SPARSEWOOD_WIDE void run_pass_to_pairs(const PairVectors& pairs, const float* on_scores,
                                       float* on_heads, float* on_dependents, float* on_v) {
    pass_to_pairs(pairs, on_scores, on_heads, on_dependents, on_v);
}

namespace {

using Matrix = Out<float, nb::ndim<2>>;
using Table = Out<float, nb::ndim<3>>;

void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("expected ") + what);
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
    m.def("score_pairs", &score_all_pairs, "heads"_a.noconvert(), "dependents"_a.noconvert(),
          "v"_a.noconvert(), "scores"_a.noconvert(), "threads"_a,
          "Writes v^T tanh(heads + dependents) for all pairs.");
    m.def("pass_to_pairs", &pass_to_all_pairs, "heads"_a.noconvert(), "dependents"_a.noconvert(),
          "v"_a.noconvert(), "on_scores"_a.noconvert(), "on_heads"_a.noconvert(),
          "on_dependents"_a.noconvert(), "on_v"_a.noconvert(), "threads"_a,
          "Adds the gradients of heads, dependents and v, of v for each sentence.");
}

}  // namespace sparsewood
