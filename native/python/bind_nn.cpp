// Python bindings of the elementwise parts of networks over sentences.
#include "python/bind_nn.h"

#include <stdexcept>
#include <string>

#include "group/parallel.h"
#include "nn/backward_pairs.h"
#include "python/arrays.h"
#include "python/without_gil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sparsewood {

SPARSEWOOD_WIDE void run_score_pairs(const PairVectors& pairs, float* scores, ScoreWork& work) {
    score_pairs(pairs, scores, work);
}

SPARSEWOOD_WIDE void run_backward_pairs(const PairVectors& pairs, const float* on_scores,
                                    const PairGradients& gradients, BackwardWork& work) {
    backward_pairs(pairs, on_scores, gradients, work);
}

namespace {

using Row = Out<float, nb::ndim<1>>;
using Matrix = Out<float, nb::ndim<2>>;
using Sums = Out<double, nb::ndim<3>>;
using Table = Out<float, nb::ndim<3>>;

void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("expected ") + what);
}

// The inputs of the scores of all pairs; a table without rows means no table.
struct Pairs {
    Table heads, dependents;
    Sums prefixes;
    Matrix table;
    Row v;

    void check(const Table& scores) const {
        size_t batch = heads.shape(0), n = dependents.shape(1), size = v.shape(0);
        size_t channels = prefixes.shape(2);
        expect(heads.shape(1) == n + 1 && heads.shape(2) == size &&
                   dependents.shape(0) == batch && dependents.shape(2) == size,
               "heads (B, n + 1, k), dependents (B, n, k) and v (k,)");
        expect(scores.shape(0) == batch && scores.shape(1) == n && scores.shape(2) == n + 1,
               "scores (B, n, n + 1)");
        expect(prefixes.shape(0) == batch && prefixes.shape(1) == n + 1,
               "prefixes (B, n + 1, channels)");
        expect(table.shape(1) == size &&
                   table.shape(0) == (table.shape(0) > 0 || channels > 0 ? 6 * channels + 4 : 0),
               "a table (6 channels + 4, k), or one without rows and no channels");
    }

    int64_t batch() const { return static_cast<int64_t>(heads.shape(0)); }
    int64_t n() const { return static_cast<int64_t>(dependents.shape(1)); }
    int64_t size() const { return static_cast<int64_t>(v.shape(0)); }
    int64_t channels() const { return static_cast<int64_t>(prefixes.shape(2)); }
    int64_t scores() const { return n() * (n() + 1); }  // of a sentence

    PairVectors sentence(int64_t b) const {
        int64_t m = n() + 1;
        return {heads.data() + b * m * size(),
                dependents.data() + b * n() * size(),
                v.data(),
                table.shape(0) > 0 ? table.data() : nullptr,
                {prefixes.data() + b * m * channels(), n(), channels()},
                n(),
                size()};
    }
};

void score_all_pairs(Table heads, Table dependents, Sums prefixes, Matrix table, Row v,
                     Table scores, int threads) {
    const Pairs pairs{heads, dependents, prefixes, table, v};
    pairs.check(scores);
    without_gil([&] {
        for_each_instance(
            pairs.batch(), threads, [&] { return ScoreWork(pairs.sentence(0)); },
            [&](ScoreWork& work, int64_t b) {
                run_score_pairs(pairs.sentence(b), scores.data() + b * pairs.scores(), work);
            });
    });
}

void backward_all_pairs(Table heads, Table dependents, Sums prefixes, Matrix table, Row v,
                    Table on_scores, Table on_heads, Table on_dependents, Sums on_prefixes,
                    Table on_table, Matrix on_v, int threads) {
    const Pairs pairs{heads, dependents, prefixes, table, v};
    pairs.check(on_scores);
    Pairs{on_heads, on_dependents, on_prefixes, table, v}.check(on_scores);
    expect(on_v.shape(0) == heads.shape(0) && on_v.shape(1) == v.shape(0), "on_v (B, k)");
    expect(on_table.shape(0) == heads.shape(0) && on_table.shape(1) == table.shape(0) &&
               on_table.shape(2) == v.shape(0),
           "on_table (B, 6 channels + 4, k)");
    const int64_t n = pairs.n(), m = n + 1, size = pairs.size();
    const int64_t rows = static_cast<int64_t>(table.shape(0));
    without_gil([&] {
        for_each_instance(
            pairs.batch(), threads, [&] { return BackwardWork(pairs.sentence(0)); },
            [&](BackwardWork& work, int64_t b) {
                const PairGradients gradients{on_heads.data() + b * m * size,
                                              on_dependents.data() + b * n * size,
                                              on_v.data() + b * size,
                                              rows > 0 ? on_table.data() + b * rows * size
                                                       : nullptr,
                                              on_prefixes.data() + b * m * pairs.channels()};
                run_backward_pairs(pairs.sentence(b), on_scores.data() + b * pairs.scores(),
                                   gradients, work);
            });
    });
}

}  // namespace

void bind_nn(nb::module_& m) {
    m.def("score_pairs", &score_all_pairs, "heads"_a.noconvert(), "dependents"_a.noconvert(),
          "prefixes"_a.noconvert(), "table"_a.noconvert(), "v"_a.noconvert(),
          "scores"_a.noconvert(), "threads"_a,
          "Writes v^T tanh(heads + dependents + what lies between) for all pairs.");
    m.def("backward_pairs", &backward_all_pairs, "heads"_a.noconvert(), "dependents"_a.noconvert(),
          "prefixes"_a.noconvert(), "table"_a.noconvert(), "v"_a.noconvert(),
          "on_scores"_a.noconvert(), "on_heads"_a.noconvert(), "on_dependents"_a.noconvert(),
          "on_prefixes"_a.noconvert(), "on_table"_a.noconvert(), "on_v"_a.noconvert(), "threads"_a,
          "Writes the gradients of all, those of table and v for each sentence.");
}

}  // namespace sparsewood
