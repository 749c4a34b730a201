// sparsewood._native: the solver and the oracles on padded batches of NumPy or PyTorch arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "group/memory.h"
#include "python/arrays.h"
#include "python/bind_charts.h"
#include "python/bind_forest.h"
#include "python/bind_nn.h"
#include "python/bind_rankings.h"
#include "python/bind_tree_sums.h"
#include "python/without_gil.h"
#include "solver/batch.h"
#include "solver/registry.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace sparsewood;

template <class T, class... Shape>
using Made = nb::ndarray<nb::numpy, T, Shape...>;

// A new NumPy array that owns its memory.
template <class T, class... Shape>
Made<T, Shape...> make(std::initializer_list<size_t> shape, T*& data) {
    size_t count = 1;
    std::string sides;
    for (size_t s : shape) count *= s, sides += (sides.empty() ? "" : ", ") + std::to_string(s);
    int64_t bytes = static_cast<int64_t>(count * sizeof(T));
    data = has_memory(bytes) ? new (std::nothrow) T[count ? count : 1] : nullptr;
    if (!data) fail_for_memory(bytes, "an array of shape (" + sides + "),");
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Made<T, Shape...>(data, shape, owner);
}

using Reals = In<double>;
using Sizes = In<int64_t, nb::ndim<2>>;

template <class Array>
Whole shape_after(const Array& array, size_t first) {
    Whole shape;
    for (size_t d = first; d < array.ndim(); ++d)
        shape.push_back(static_cast<int64_t>(array.shape(d)));
    return shape;
}

template <class Array>
Scores view(const Array& scores, const Sizes& sizes, Whole full, Whole options,
            std::optional<Whole> batch) {
    if (scores.ndim() < 2 || sizes.shape(0) != scores.shape(0) || sizes.shape(1) != full.size())
        throw std::invalid_argument("expected scores (B, *parts) and sizes (B, len(full))");
    int64_t count = static_cast<int64_t>(scores.shape(0)), known = 1;
    Whole given = batch ? *std::move(batch) : Whole{count};
    for (int64_t size : given) known *= size;
    if (known != count) throw std::invalid_argument("expected the shape of a batch of B instances");
    Scores made{nullptr,         sizes.data(),       count,           shape_after(scores, 1),
                std::move(full), std::move(options), std::move(given)};
    if constexpr (std::is_same_v<Array, Reals>)
        made.data = scores.data();
    else
        made.narrow = scores.data();
    return made;
}

// Reals: also float32, which saves a copy.
template <class Array>
void argmax(const std::string& family, Whole options, Array scores, Sizes sizes, Whole full,
            Out<int64_t, nb::ndim<2>> events, int threads, std::optional<Whole> shape) {
    Scores batch = view(scores, sizes, std::move(full), std::move(options), std::move(shape));
    Operations operations = find_family(family, batch.options);
    if (events.shape(0) != scores.shape(0)) throw std::invalid_argument("expected events (B, *)");
    int64_t* out = events.data();
    without_gil([&] { operations.argmax(batch, threads, out); });
}

using Best = std::tuple<Made<int64_t, nb::ndim<2>>, Made<double, nb::ndim<1>>,
                        Made<int64_t, nb::ndim<1>>, Made<int64_t, nb::ndim<1>>>;

Best kbest(const std::string& family, Whole options, Reals scores, Sizes sizes, Whole full,
           int64_t event, int64_t k, int threads, std::optional<Whole> shape) {
    Scores batch = view(scores, sizes, std::move(full), std::move(options), std::move(shape));
    Operations operations = find_family(family, batch.options);
    std::vector<Ranking> best;
    without_gil([&] { best = operations.kbest(batch, k, threads); });
    size_t width = static_cast<size_t>(event), total = 0;
    for (const Ranking& one : best) total += one.events.size();
    int64_t *out, *counts, *calls;
    double* totals;
    Best made{make<int64_t, nb::ndim<2>>({total / width, width}, out),
              make<double, nb::ndim<1>>({total / width}, totals),
              make<int64_t, nb::ndim<1>>({best.size()}, counts),
              make<int64_t, nb::ndim<1>>({best.size()}, calls)};
    for (size_t b = 0; b < best.size(); ++b) {
        const Ranking& one = best[b];
        batch.with_instance(static_cast<int64_t>(b), [&](auto own) {
            const int64_t* part = one.parts.data();
            for (int64_t parts : one.part_counts) {
                *totals = 0;
                for (int64_t i = 0; i < parts; ++i) *totals += own[*part++];
                ++totals;
            }
        });
        out = std::copy(one.events.begin(), one.events.end(), out);
        *counts++ = static_cast<int64_t>(one.events.size() / width);
        *calls++ = one.calls;
    }
    return made;
}

// The arrays of `Solution` in src/sparsewood/inference/_solution.py, by name. Rows of used and tie,
// the parts of structures, are padded with -1.
nb::dict collect(const Scores& scores, size_t event, const std::vector<Solution>& solutions) {
    size_t batch = solutions.size(), cells = static_cast<size_t>(scores.parts());
    size_t total = 0, packed = 0;
    int64_t width = 0;
    size_t tied = 0;
    for (const Solution& s : solutions) {
        tied = std::max(tied, s.tie.size());
        total += s.weights.size(), packed += s.factor.size();
        for (int64_t count : s.part_counts) width = std::max(width, count);
    }
    int64_t *events, *sizes, *status, *used, *calls, *tie;
    double *weights, *marginals, *gap, *factor, *temperature;
    bool* canonical;
    nb::dict made;
    made["weights"] = make<double, nb::ndim<1>>({total}, weights);
    made["marginals"] = make<double, nb::ndim<2>>({batch, cells}, marginals);
    made["structures"] = make<int64_t, nb::ndim<2>>({total, event}, events);
    made["sizes"] = make<int64_t, nb::ndim<1>>({batch}, sizes);
    made["gap"] = make<double, nb::ndim<1>>({batch}, gap);
    made["status"] = make<int64_t, nb::ndim<1>>({batch}, status);
    made["factor"] = make<double, nb::ndim<1>>({packed}, factor);
    made["used"] = make<int64_t, nb::ndim<2>>({total, static_cast<size_t>(width)}, used);
    made["calls"] = make<int64_t, nb::ndim<1>>({batch}, calls);
    made["canonical"] = make<bool, nb::ndim<1>>({batch}, canonical);
    made["temperature"] = make<double, nb::ndim<1>>({batch}, temperature);
    made["tie"] = make<int64_t, nb::ndim<2>>({batch, tied}, tie);
    std::fill(tie, tie + batch * tied, int64_t{-1});
    std::fill(marginals, marginals + batch * cells, 0.0);
    std::fill(used, used + static_cast<int64_t>(total) * width, int64_t{-1});
    for (size_t b = 0; b < batch; ++b, marginals += cells, tie += tied) {
        const Solution& s = solutions[b];
        const int64_t* part = s.parts.data();
        for (size_t a = 0; a < s.weights.size(); ++a, used += width)
            for (int64_t i = 0; i < s.part_counts[a]; ++i, ++part) {
                used[i] = *part;
                marginals[*part] += s.weights[a];
            }
        events = std::copy(s.events.begin(), s.events.end(), events);
        weights = std::copy(s.weights.begin(), s.weights.end(), weights);
        factor = std::copy(s.factor.begin(), s.factor.end(), factor);
        sizes[b] = static_cast<int64_t>(s.weights.size());
        gap[b] = s.gap;
        status[b] = static_cast<int64_t>(s.status);
        calls[b] = s.calls;
        canonical[b] = s.canonical;
        temperature[b] = s.temperature;
        std::copy(s.tie.begin(), s.tie.end(), tie);
    }
    return made;
}

nb::dict solve(const std::string& family, Whole options, Reals scores, Sizes sizes, Whole full,
               int64_t event, In<double, nb::ndim<1>> temperature, double tol, int64_t max_active,
               int64_t max_iter, int64_t max_support, bool canonical, int threads,
               int64_t most_structures, std::optional<Whole> shape) {
    Scores batch = view(scores, sizes, std::move(full), std::move(options), std::move(shape));
    Operations operations = find_family(family, batch.options);
    if (temperature.shape(0) != scores.shape(0))
        throw std::invalid_argument("expected temperature (B,)");
    bool events = event > 0;
    Request request{{tol, max_active, max_iter, most_structures}, max_support, canonical, events};
    std::vector<Solution> solutions;
    without_gil([&] {
        solutions = operations.solve(batch, temperature.data(), request, threads);
    });
    return collect(batch, static_cast<size_t>(event), solutions);
}

std::tuple<Made<double, nb::ndim<1>>, Made<double, nb::ndim<2>>> jacobian(
    In<int64_t, nb::ndim<2>> used, In<int64_t, nb::ndim<1>> sizes, In<double, nb::ndim<1>> factor,
    In<double, nb::ndim<1>> on_weights, In<double, nb::ndim<2>> on_parts, int threads) {
    size_t batch = sizes.shape(0), cells = on_parts.shape(1);
    int64_t total = 0, packed = 0;
    for (size_t b = 0; b < batch; ++b) {
        total += sizes.data()[b];
        packed += Cholesky::packed(sizes.data()[b]);
    }
    if (total != static_cast<int64_t>(used.shape(0)) ||
        packed != static_cast<int64_t>(factor.shape(0)) || used.shape(0) != on_weights.shape(0) ||
        on_parts.shape(0) != batch)
        throw std::invalid_argument("posterior and gradient do not belong together");
    double *out_weights, *out_parts;
    auto made_weights = make<double, nb::ndim<1>>({used.shape(0)}, out_weights);
    auto made_parts = make<double, nb::ndim<2>>({batch, cells}, out_parts);
    Posteriors posteriors{used.data(),
                          sizes.data(),
                          factor.data(),
                          static_cast<int64_t>(batch),
                          static_cast<int64_t>(used.shape(1)),
                          static_cast<int64_t>(cells)};
    without_gil([&] {
        std::fill(out_parts, out_parts + batch * cells, 0.0);
        apply_jacobians(posteriors, on_weights.data(), on_parts.data(), threads, out_weights,
                        out_parts);
    });
    return {made_weights, made_parts};
}

nb::dict families() {
    nb::dict structs;
    for (const auto& [name, registration] : registrations())
        structs[name.c_str()] = registration.structs;
    return structs;
}

}  // namespace

NB_MODULE(_native, m) {
    listen_to_python();
    m.def("has_memory", &has_memory, "size"_a, "Whether so many bytes are free.");
    m.def("families", &families, "The structs of each family, separated by commas.");
    m.def("argmax", &argmax<Reals>, "family"_a, "options"_a, "scores"_a, "sizes"_a, "full"_a,
          "events"_a.noconvert(), "threads"_a, "batch"_a = nb::none(),
          "Writes the highest-scoring structure of every instance to events.");
    m.def("argmax", &argmax<In<float>>, "family"_a, "options"_a, "scores"_a, "sizes"_a, "full"_a,
          "events"_a.noconvert(), "threads"_a, "batch"_a = nb::none(),
          "Writes the highest-scoring structure of every instance to events.");
    m.def("kbest", &kbest, "family"_a, "options"_a, "scores"_a, "sizes"_a, "full"_a, "event"_a,
          "k"_a, "threads"_a, "batch"_a = nb::none(),
          "The highest-scoring structures of every instance one after the other, their scores, their "
          "number, and how often the oracle was asked.");
    m.def("solve", &solve, "family"_a, "options"_a, "scores"_a, "sizes"_a, "full"_a, "event"_a,
          "temperature"_a, "tol"_a, "max_active"_a, "max_iter"_a, "max_support"_a, "canonical"_a,
          "threads"_a, "most_structures"_a = kMostStructures, "batch"_a = nb::none(),
          "SparseMAP: the arrays of a solution by name.");
    m.def("jacobian", &jacobian, "used"_a, "sizes"_a, "factor"_a, "on_weights"_a, "on_parts"_a,
          "threads"_a, "Applies the Jacobian on the saved support: (out_weights, out_parts).");
    sparsewood::bind_forest(m);
    sparsewood::bind_nn(m);
    sparsewood::bind_tree_sums(m);
    sparsewood::bind_charts(m);
    sparsewood::bind_rankings(m);
}
