// Sums over charts for Python.
#include "python/bind_charts.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "group/fail.h"
#include "group/memory.h"
#include "group/parallel.h"
#include "python/arrays.h"
#include "python/without_gil.h"
#include "sums/alignment_steps.h"
#include "sums/binary_spans.h"
#include "sums/few_children.h"
#include "sums/item_sets.h"
#include "sums/monotone_steps.h"
#include "sums/path_lines.h"
#include "sums/potentials.h"
#include "sums/projective_trees.h"
#include "sums/segment_chart.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sparsewood {

namespace {

using Reals = In<double>;
using Sizes = In<int64_t, nb::ndim<2>>;

// Calls f with the family of that name.
template <class F>
void with_family(const std::string& name, F f) {
    if (name == "projective_trees") return f(ProjectiveTrees<false>{});
    if (name == "projective_trees_single_root") return f(ProjectiveTrees<true>{});
    if (name == "binary_spans") return f(BinarySpans{});
    if (name == "alignment_paths") return f(AlignmentPaths{});
    if (name == "gapped_steps") return f(GappedSteps{});
    if (name == "monotone_steps") return f(MonotoneSteps{});
    if (name == "chain_states") return f(ChainStates{});
    if (name == "item_sets") return f(ItemSets{});
    if (name == "few_children") return f(FewChildren<false>{});
    if (name == "few_children_single_root") return f(FewChildren<true>{});
    if (name == "segment_states") return f(SegmentStates{});
    throw std::invalid_argument("unknown chart " + name);
}

// A batch of scores (B, *shape) with up to three dimensions in an instance.
struct Batch {
    const double* scores;
    const int64_t* sizes;
    size_t dims;
    int64_t count, each = 1, shape[3] = {1, 1, 1};

    Batch(const Reals& given, const Sizes& lengths)
        : scores(given.data()), sizes(lengths.data()), dims(lengths.shape(1)),
          count(static_cast<int64_t>(given.shape(0))) {
        if (given.ndim() < 3 || given.ndim() > 4 || lengths.shape(0) != given.shape(0))
            throw std::invalid_argument("expected scores (B, *parts) and sizes (B, d)");
        for (size_t d = 1; d < given.ndim(); ++d) {
            shape[d - 1] = static_cast<int64_t>(given.shape(d));
            each *= shape[d - 1];
        }
    }

    void check(size_t cells, size_t copies = 1) const {
        if (cells != copies * static_cast<size_t>(count * each))
            throw std::invalid_argument("expected arrays with the shape of the scores");
    }
};

// The memory of a thread, enough for the largest instance of the batch.
template <class Family>
struct ChartWorker {
    Chart<Family> chart;
    std::vector<char> memory;
    std::vector<uint8_t> used;
    bool with_rates;

    void begin(const Batch& batch, int64_t b) {
        chart.family.set_size(batch.sizes + static_cast<size_t>(b) * batch.dims, batch.shape);
        Arena measure{nullptr};
        chart.lay_out(measure, with_rates);
        if (static_cast<size_t>(measure.used) > memory.size()) {
            if (measure.used >= kLargePiece && !has_memory(measure.used))
                fail_for_memory(measure.used);
            memory.resize(static_cast<size_t>(measure.used));
        }
        Arena arena{memory.data()};
        chart.lay_out(arena, with_rates);
    }
};

// Calls work(worker, b) for each instance, after its memory was laid out.
template <class Work>
void for_each_chart(const std::string& name, const Batch& batch, bool with_rates, int threads,
                    Work work) {
    with_family(name, [&](auto family) {
        using Worker = ChartWorker<decltype(family)>;
        without_gil([&] {
            for_each_instance(
                batch.count, threads, [&] { return Worker{{}, {}, {}, with_rates}; },
                [&](Worker& worker, int64_t b) {
                    worker.begin(batch, b);
                    work(worker, b);
                });
        });
    });
}

void sum_chart(const std::string& name, Reals scores, Sizes sizes,
               Out<double, nb::ndim<1>> log_sums, Out<double> marginals, int threads) {
    Batch batch(scores, sizes);
    batch.check(marginals.size());
    if (log_sums.shape(0) != scores.shape(0)) throw std::invalid_argument("expected log_sums (B,)");
    double *sums = log_sums.data(), *out = marginals.data();
    for_each_chart(name, batch, false, threads, [&](auto& worker, int64_t b) {
        const double* own = batch.scores + b * batch.each;
        sums[b] = worker.chart.sum(Thread{}, own);
        worker.chart.marginals(Thread{}, out + b * batch.each);
    });
}

void chart_hessian(const std::string& name, Reals scores, Sizes sizes, Reals direction,
                   Out<double> product, int threads) {
    Batch batch(scores, sizes);
    batch.check(direction.size());
    batch.check(product.size());
    const double* along = direction.data();
    double* out = product.data();
    for_each_chart(name, batch, true, threads, [&](auto& worker, int64_t b) {
        const double* own = batch.scores + b * batch.each;
        worker.chart.sum(Thread{}, own);
        worker.chart.hessian(Thread{}, along + b * batch.each, out + b * batch.each);
    });
}

void sample_chart(const std::string& name, Reals scores, Sizes sizes,
                  In<int64_t, nb::ndim<2>> seeds, Out<double> samples, int threads) {
    Batch batch(scores, sizes);
    size_t count = seeds.shape(0);
    batch.check(samples.size(), count);
    if (seeds.shape(1) != scores.shape(0)) throw std::invalid_argument("expected seeds (n, B)");
    const int64_t* seed = seeds.data();
    double* out = samples.data();
    for_each_chart(name, batch, false, threads, [&](auto& worker, int64_t b) {
        const double* own = batch.scores + b * batch.each;
        worker.chart.sum(Thread{}, own);
        worker.used.resize(static_cast<size_t>(worker.chart.family.cells));
        for (int64_t s = 0; s < static_cast<int64_t>(count); ++s) {
            int64_t at = s * batch.count + b;
            worker.chart.sample(static_cast<uint64_t>(seed[at]), worker.used.data(),
                                out + at * batch.each);
        }
    });
}

using Tables = In<double, nb::ndim<3>>;

// Calls work(b) for each of the instances.
template <class Work>
void for_each(size_t batch, int threads, Work work) {
    without_gil([&] {
        for_each_instance(
            static_cast<int64_t>(batch), threads, [] { return 0; },
            [&](int, int64_t b) { work(b); });
    });
}

void find_alignment_potentials(Tables scores, Out<double, nb::ndim<3>> potentials, bool gaps,
                          int threads) {
    int64_t n = static_cast<int64_t>(scores.shape(1)), m = static_cast<int64_t>(scores.shape(2));
    int64_t each = (n + gaps) * (m + gaps);
    if (potentials.size() != scores.shape(0) * static_cast<size_t>(each))
        throw std::invalid_argument("expected a potential for each cell, or each corner with gaps");
    const double* from = scores.data();
    double* to = potentials.data();
    for_each(scores.shape(0), threads, [&](int64_t b) {
        auto find = gaps ? gap_potentials : path_potentials;
        find(from + b * n * m, n, m, to + b * each);
    });
}

void find_step_potentials(Tables scores, Out<double, nb::ndim<3>> potentials, int64_t steps,
                          int threads) {
    int64_t n = static_cast<int64_t>(scores.shape(1)), m = static_cast<int64_t>(scores.shape(2));
    if (potentials.size() != scores.size())
        throw std::invalid_argument("expected a potential for each cell");
    const double* from = scores.data();
    double* to = potentials.data();
    for_each(scores.shape(0), threads, [&](int64_t b) {
        step_potentials(from + b * n * m, n, m, steps, to + b * n * m);
    });
}

void sum_paths(Tables scores, Sizes sizes, int64_t bits, Out<double, nb::ndim<1>> log_sums,
               Out<double, nb::ndim<3>> marginals, int threads) {
    StepSet steps;
    steps.read(bits);
    bool by_rows = !goes_by_lines(steps, false);
    if (by_rows && !goes_by_lines(steps, true))
        throw std::invalid_argument("expected steps that all lead to the next row or column");
    int64_t n = static_cast<int64_t>(scores.shape(1)), m = static_cast<int64_t>(scores.shape(2));
    size_t batch = scores.shape(0);
    if (marginals.size() != scores.size() || log_sums.shape(0) != batch ||
        sizes.shape(0) != batch || sizes.shape(1) != 2)
        throw std::invalid_argument("expected sizes (B, 2) and results for scores (B, n, m)");
    const double* from = scores.data();
    const int64_t* size = sizes.data();
    double *sums = log_sums.data(), *to = marginals.data();
    without_gil([&] {
        for_each_instance(
            static_cast<int64_t>(batch), threads, [] { return PathLines(); },
            [&](PathLines& lines, int64_t b) {
                sums[b] = lines.sum(from + b * n * m, size[2 * b], size[2 * b + 1], n, m, steps,
                                    by_rows, to + b * n * m);
            });
    });
}

void find_segment_potentials(In<double, nb::ndim<4>> scores, int64_t longest,
                      Out<double, nb::ndim<3>> starts, Out<double, nb::ndim<3>> ends, int threads) {
    int64_t t = static_cast<int64_t>(scores.shape(1)), k = static_cast<int64_t>(scores.shape(2));
    if (static_cast<int64_t>(scores.shape(3)) != longest + k || longest < 1 ||
        starts.size() != scores.shape(0) * static_cast<size_t>(t * k) ||
        ends.size() != scores.shape(0) * static_cast<size_t>((t + 1) * k))
        throw std::invalid_argument("expected scores (B, T, K, D + K)");
    const double* from = scores.data();
    double *to_starts = starts.data(), *to_ends = ends.data();
    for_each(scores.shape(0), threads, [&](int64_t b) {
        segment_potentials(from + b * t * k * (longest + k), t, k, longest, to_starts + b * t * k,
                           to_ends + b * (t + 1) * k);
    });
}

// Bytes of working memory and cells of an instance of `size` in an array of `shape`.
std::pair<int64_t, int64_t> measure_chart(const std::string& name, std::vector<int64_t> size,
                                          std::vector<int64_t> shape, bool with_rates) {
    shape.resize(3, 1);
    std::pair<int64_t, int64_t> found;
    with_family(name, [&](auto family) {
        Chart<decltype(family)> chart;
        chart.family.set_size(size.data(), shape.data());
        Arena arena{nullptr};
        chart.lay_out(arena, with_rates);
        found = {arena.used, chart.family.cells};
    });
    return found;
}

}  // namespace

void bind_charts(nb::module_& m) {
    m.def("sum_chart", &sum_chart, "chart"_a, "scores"_a, "sizes"_a, "log_sums"_a.noconvert(),
          "marginals"_a.noconvert(), "threads"_a,
          "Writes the log-partition function of each instance and its derivatives.");
    m.def("chart_hessian", &chart_hessian, "chart"_a, "scores"_a, "sizes"_a, "direction"_a,
          "product"_a.noconvert(), "threads"_a,
          "Writes the derivatives of the marginals along a direction.");
    m.def("sample_chart", &sample_chart, "chart"_a, "scores"_a, "sizes"_a, "seeds"_a,
          "samples"_a.noconvert(), "threads"_a,
          "Marks the steps of structures drawn from their distribution in samples (n, B, *parts), "
          "which are 0 before; one seed (n, B) for each.");
    m.def("alignment_potentials", &find_alignment_potentials, "scores"_a, "potentials"_a.noconvert(),
          "gaps"_a, "threads"_a,
          "Writes the best score of a walk to each cell, or with gaps to each corner.");
    m.def("step_potentials", &find_step_potentials, "scores"_a, "potentials"_a.noconvert(),
          "steps"_a, "threads"_a,
          "Writes the best score of a path to each cell by the steps of families/step_set.h.");
    m.def("segment_potentials", &find_segment_potentials, "scores"_a, "longest"_a, "starts"_a.noconvert(),
          "ends"_a.noconvert(), "threads"_a,
          "Writes the best score of prefixes before each label starts and ends.");
    m.def("sum_paths", &sum_paths, "scores"_a, "sizes"_a, "steps"_a, "log_sums"_a.noconvert(),
          "marginals"_a.noconvert(), "threads"_a,
          "Writes the log-partition function of monotone paths with one cell in each row or column, "
          "and the probability of each cell.");
    m.def("measure_chart", &measure_chart, "chart"_a, "size"_a, "shape"_a, "with_rates"_a,
          "The bytes of working memory and the cells of an instance.");
}

}  // namespace sparsewood
