// Python bindings of sums over spanning trees.
#include "python/bind_tree_sums.h"

#include <stdexcept>
#include <vector>

#include "group/fail.h"
#include "group/memory.h"
#include "group/parallel.h"
#include "python/arrays.h"
#include "python/without_gil.h"
#include "sums/shift_arcs.h"
#include "sums/tree_samples.h"
#include "sums/tree_sums.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sparsewood {

SPARSEWOOD_WIDE bool run_sums(TreeSums& sums, const double* scores, int words, double* marginals,
                              double& log_sum) {
    return sums(scores, words, marginals, log_sum);
}

SPARSEWOOD_WIDE double run_shift(double* arcs, int64_t n, int64_t width, int64_t root) {
    return shift_arcs(arcs, n, width, root);
}

namespace {

void shift(Out<double, nb::ndim<3>> arcs, Out<double, nb::ndim<1>> shared, int64_t root) {
    size_t batch = arcs.shape(0);
    int64_t n = static_cast<int64_t>(arcs.shape(1)), width = static_cast<int64_t>(arcs.shape(2));
    if (shared.shape(0) != batch || root < 0 || root > width)
        throw std::invalid_argument("expected arcs (B, n, width), shared (B,), root <= width");
    double *scores = arcs.data(), *out = shared.data();
    nb::gil_scoped_release release;
    for (size_t b = 0; b < batch; ++b, scores += n * width)
        out[b] = run_shift(scores, n, width, root);
}

void find_shifted_spans(Out<double, nb::ndim<4>> spans, In<int64_t, nb::ndim<1>> lengths,
                        Out<double, nb::ndim<1>> shared) {
    size_t batch = spans.shape(0);
    int64_t n = static_cast<int64_t>(spans.shape(1)), labels = static_cast<int64_t>(spans.shape(3));
    if (spans.shape(2) != spans.shape(1) || shared.shape(0) != batch || lengths.shape(0) != batch)
        throw std::invalid_argument("expected spans (B, n, n, L), lengths and shared (B,)");
    double *scores = spans.data(), *out = shared.data();
    const int64_t* words = lengths.data();
    nb::gil_scoped_release release;
    for (size_t b = 0; b < batch; ++b, scores += n * n * labels)
        out[b] = shift_spans(scores, words[b] < n ? words[b] : n, n, labels);
}

void sum_trees(In<double, nb::ndim<3>> scores, In<int64_t, nb::ndim<1>> lengths,
               Out<double, nb::ndim<1>> log_sums, Out<double, nb::ndim<3>> marginals,
               Out<bool, nb::ndim<1>> good, bool single_root, int threads) {
    size_t batch = scores.shape(0), n = scores.shape(1);
    if (scores.shape(2) != n + 1 || marginals.shape(0) != batch || marginals.shape(1) != n ||
        marginals.shape(2) != n + 1)
        throw std::invalid_argument("expected scores and marginals (B, n, n + 1)");
    if (lengths.shape(0) != batch || log_sums.shape(0) != batch || good.shape(0) != batch)
        throw std::invalid_argument("expected lengths, log_sums and good (B,)");
    const double* from = scores.data();
    const int64_t* words = lengths.data();
    double *sums = log_sums.data(), *to = marginals.data();
    bool* fine = good.data();
    for (size_t b = 0; b < batch; ++b)
        if (words[b] < single_root || words[b] > static_cast<int64_t>(n))
            throw std::invalid_argument(
                "lengths: expected at most n words, and one for a single root");
    without_gil([&] {
        for_each_instance(
            static_cast<int64_t>(batch), threads,
            [&] { return TreeSums(static_cast<int>(n), single_root); },
            [&](TreeSums& sum, int64_t b) {
                size_t at = static_cast<size_t>(b) * n * (n + 1);
                fine[b] = run_sums(sum, from + at, static_cast<int>(words[b]), to + at, sums[b]);
            });
    });
}

// Draws trees of sentences, one after another.
class TreeSampler {
  public:
    TreeSamples samples;

    explicit TreeSampler(int most) {
        Arena measure{nullptr};
        lay_out(measure, most);
        if (measure.used >= kLargePiece && !has_memory(measure.used)) fail_for_memory(measure.used);
        memory_.resize(static_cast<size_t>(measure.used));
    }

    void begin(int words) {
        Arena arena{memory_.data()};
        lay_out(arena, words);
    }

  private:
    void lay_out(Arena& arena, int words) {
        samples.lay_out(arena, words);
        samples.lay_out_sample(arena, words);
    }

    std::vector<char> memory_;
};

// Bytes of working memory of a sentence of n words, so many samples drawn at a time.
int64_t measure_tree_samples(int n, int lanes) {
    TreeSamples samples;
    Arena measure{nullptr};
    samples.lay_out(measure, n);
    for (int lane = 0; lane < lanes; ++lane) samples.lay_out_sample(measure, n);
    return measure.used;
}

void sample_trees(In<double, nb::ndim<3>> scores, In<int64_t, nb::ndim<1>> lengths,
                  bool single_root, In<int64_t, nb::ndim<2>> seeds,
                  Out<int64_t, nb::ndim<3>> heads, Out<bool, nb::ndim<2>> good, int threads) {
    size_t batch = scores.shape(0), n = scores.shape(1), count = seeds.shape(0);
    if (scores.shape(2) != n + 1 || lengths.shape(0) != batch || seeds.shape(1) != batch ||
        heads.size() != count * batch * n || good.size() != count * batch)
        throw std::invalid_argument("expected scores (B, n, n + 1), heads (samples, B, n)");
    const double* from = scores.data();
    const int64_t *words = lengths.data(), *seed = seeds.data();
    int64_t* to = heads.data();
    bool* fine = good.data();
    without_gil([&] {
        for_each_instance(
            static_cast<int64_t>(batch), threads,
            [&] { return TreeSampler(static_cast<int>(n)); },
            [&](TreeSampler& sampler, int64_t b) {
                int64_t width = static_cast<int64_t>(n) + 1;
                sampler.begin(static_cast<int>(words[b]));
                sampler.samples.read(Thread{}, from + b * (width - 1) * width, width, single_root);
                for (int64_t s = 0; s < static_cast<int64_t>(count); ++s) {
                    poll();
                    int64_t at = s * static_cast<int64_t>(batch) + b;
                    Uniform uniform{static_cast<uint64_t>(seed[at])};
                    fine[at] = sampler.samples.draw(uniform, to + at * (width - 1));
                }
            });
    });
}

}  // namespace

void bind_tree_sums(nb::module_& m) {
    m.def("sum_trees", &sum_trees, "scores"_a, "lengths"_a, "log_sums"_a.noconvert(),
          "marginals"_a.noconvert(), "good"_a.noconvert(), "single_root"_a, "threads"_a,
          "Writes the log-partition function of each sentence, its derivatives, and whether both "
          "could be computed.");
    m.def("sample_trees", &sample_trees, "scores"_a, "lengths"_a, "single_root"_a, "seeds"_a, "heads"_a.noconvert(), "good"_a.noconvert(), "threads"_a,
          "Writes the heads (n, B, words) of trees drawn from their distribution, one seed (n, B) "
          "for each, and whether they could be drawn.");
    m.def("measure_tree_samples", &measure_tree_samples, "words"_a, "lanes"_a,
          "The bytes of working memory of a sentence.");
    m.def("shift_spans", &find_shifted_spans, "spans"_a.noconvert(), "lengths"_a,
          "shared"_a.noconvert(),
          "Subtracts from spans (B, n, n, L), in place, the score shared by all trees, and writes "
          "it.");
    m.def(
        "shift_arcs", &shift, "arcs"_a.noconvert(), "shared"_a.noconvert(), "root"_a,
        "Takes off arcs (B, n, width), in place, what all trees share, and writes that. The first "
        "`root` cells of a row are those of the root where it has one child; 0 otherwise.");
}

}  // namespace sparsewood
