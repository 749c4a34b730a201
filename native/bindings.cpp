// spinney._native: the solver and the oracles on padded batches of NumPy or PyTorch arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "arrays.h"
#include "batch.h"
#include "bind_forest.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace spinney;

template <class T, class... Shape>
using Made = nb::ndarray<nb::numpy, T, Shape...>;

// A new NumPy array that owns its memory.
template <class T, class... Shape>
Made<T, Shape...> make(std::initializer_list<size_t> shape, T*& data) {
    size_t count = 1;
    for (size_t s : shape) count *= s;
    data = new T[count ? count : 1];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Made<T, Shape...>(data, shape, owner);
}

TreeScores view(const In<double, nb::ndim<3>>& scores, const In<int64_t, nb::ndim<1>>& lengths) {
    if (scores.shape(2) != scores.shape(1) + 1 || lengths.shape(0) != scores.shape(0))
        throw std::invalid_argument("expected scores (B, n, n + 1) and lengths (B,)");
    return {scores.data(), lengths.data(), static_cast<int64_t>(scores.shape(0)),
            static_cast<int64_t>(scores.shape(1))};
}

void argmax_trees(In<double, nb::ndim<3>> scores, In<int64_t, nb::ndim<1>> lengths,
                  Out<int64_t, nb::ndim<2>> heads, bool projective, bool single_root, int threads) {
    TreeScores trees = view(scores, lengths);
    if (heads.shape(0) != scores.shape(0) || heads.shape(1) != scores.shape(1))
        throw std::invalid_argument("expected heads (B, n)");
    int64_t* out = heads.data();
    nb::gil_scoped_release release;
    argmax(trees, {projective, single_root}, threads, out);
}

using Posterior =
    std::tuple<Made<int64_t, nb::ndim<2>>, Made<double, nb::ndim<1>>, Made<int64_t, nb::ndim<1>>,
               Made<double, nb::ndim<3>>, Made<double, nb::ndim<1>>, Made<bool, nb::ndim<1>>,
               Made<double, nb::ndim<1>>, Made<int64_t, nb::ndim<1>>>;

Posterior collect(const TreeScores& trees, const std::vector<Solution>& solutions) {
    size_t batch = solutions.size(), words = static_cast<size_t>(trees.words);
    size_t total = 0, packed = 0;
    for (const Solution& s : solutions) total += s.weights.size(), packed += s.factor.size();
    int64_t *structures, *sizes, *calls;
    double *weights, *marginals, *gap, *factor;
    bool* converged;
    Posterior made{make<int64_t, nb::ndim<2>>({total, words}, structures),
                   make<double, nb::ndim<1>>({total}, weights),
                   make<int64_t, nb::ndim<1>>({batch}, sizes),
                   make<double, nb::ndim<3>>({batch, words, words + 1}, marginals),
                   make<double, nb::ndim<1>>({batch}, gap),
                   make<bool, nb::ndim<1>>({batch}, converged),
                   make<double, nb::ndim<1>>({packed}, factor),
                   make<int64_t, nb::ndim<1>>({batch}, calls)};
    std::fill(marginals, marginals + batch * words * (words + 1), 0.0);
    for (size_t b = 0; b < batch; ++b, marginals += words * (words + 1)) {
        const Solution& s = solutions[b];
        for (size_t a = 0; a < s.weights.size(); ++a, structures += words) {
            const int16_t* code = s.codes.data() + a * static_cast<size_t>(s.words);
            std::fill(structures, structures + words, int64_t{-1});
            for (size_t i = 0; i < static_cast<size_t>(s.words); ++i) {
                structures[i] = code[i];
                marginals[i * (words + 1) + static_cast<size_t>(code[i])] += s.weights[a];
            }
        }
        weights = std::copy(s.weights.begin(), s.weights.end(), weights);
        factor = std::copy(s.factor.begin(), s.factor.end(), factor);
        sizes[b] = s.size();
        gap[b] = s.gap;
        converged[b] = s.converged;
        calls[b] = s.calls;
    }
    return made;
}

Posterior solve_trees(In<double, nb::ndim<3>> scores, In<int64_t, nb::ndim<1>> lengths,
                      In<double, nb::ndim<1>> temperature, bool projective, bool single_root,
                      double tol, int max_active, int max_iter, int threads) {
    TreeScores trees = view(scores, lengths);
    if (temperature.shape(0) != scores.shape(0))
        throw std::invalid_argument("expected temperature (B,)");
    std::vector<Solution> solutions;
    {
        nb::gil_scoped_release release;
        solutions = solve(trees, temperature.data(), {projective, single_root},
                          {tol, max_active, max_iter}, threads);
    }
    return collect(trees, solutions);
}

std::tuple<Made<double, nb::ndim<1>>, Made<double, nb::ndim<3>>> jacobian_trees(
    In<int64_t, nb::ndim<2>> structures, In<int64_t, nb::ndim<1>> sizes,
    In<int64_t, nb::ndim<1>> lengths, In<double, nb::ndim<1>> factor,
    In<double, nb::ndim<1>> on_weights, In<double, nb::ndim<3>> on_parts, int threads) {
    size_t batch = sizes.shape(0), words = structures.shape(1);
    int64_t total = 0, packed = 0;
    for (size_t b = 0; b < batch; ++b) {
        total += sizes.data()[b];
        packed += Factor::packed(sizes.data()[b]);
    }
    if (total != static_cast<int64_t>(structures.shape(0)) ||
        packed != static_cast<int64_t>(factor.shape(0)) ||
        structures.shape(0) != on_weights.shape(0) || on_parts.shape(0) != batch ||
        on_parts.shape(1) != words || on_parts.shape(2) != words + 1 || lengths.shape(0) != batch)
        throw std::invalid_argument("posterior and gradient do not belong together");
    double *out_weights, *out_parts;
    auto made_weights = make<double, nb::ndim<1>>({structures.shape(0)}, out_weights);
    auto made_parts = make<double, nb::ndim<3>>({batch, words, words + 1}, out_parts);
    TreePosteriors posteriors{structures.data(),
                              sizes.data(),
                              lengths.data(),
                              factor.data(),
                              static_cast<int64_t>(batch),
                              static_cast<int64_t>(words)};
    {
        nb::gil_scoped_release release;
        std::fill(out_parts, out_parts + batch * words * (words + 1), 0.0);
        apply_jacobians(posteriors, on_weights.data(), on_parts.data(), threads, out_weights,
                        out_parts);
    }
    return {made_weights, made_parts};
}

}  // namespace

NB_MODULE(_native, m) {
    m.def("argmax_trees", &argmax_trees, "scores"_a, "lengths"_a, "heads"_a.noconvert(),
          "projective"_a, "single_root"_a, "threads"_a,
          "Writes the highest-scoring tree of every instance to heads.");
    m.def("solve_trees", &solve_trees, "scores"_a, "lengths"_a, "temperature"_a, "projective"_a,
          "single_root"_a, "tol"_a, "max_active"_a, "max_iter"_a, "threads"_a,
          "SparseMAP: (structures, weights, sizes, marginals, gap, converged, factor, calls).");
    m.def("jacobian_trees", &jacobian_trees, "structures"_a, "sizes"_a, "lengths"_a, "factor"_a,
          "on_weights"_a, "on_parts"_a, "threads"_a,
          "Applies the Jacobian on the saved support: (out_weights, out_parts).");
    spinney::bind_forest(m);
}
