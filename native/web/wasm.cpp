// The core as WebAssembly, for sparsewood.js.
//
// A problem is one list of numbers, and so is a result. Nested lists are preceded by their length.
// A call that fails does not return: JavaScript throws, and this instance must not be used again.
#include <cstdlib>
#include <cstring>
#include <new>

#include "solver/batch.h"
#include "solver/registry.h"

#define SPARSEWOOD_EXPORT(name) extern "C" __attribute__((export_name(#name)))

extern "C" [[noreturn]] __attribute__((import_module("sparsewood"), import_name("fail"))) void
throw_in_javascript(const char* message, size_t length);

namespace sparsewood {

void fail(const std::string& message) { throw_in_javascript(message.data(), message.size()); }

void poll() {}  // calls cannot be interrupted

namespace {

std::vector<double> given, answer;

// Reads `given` from its beginning.
class Reader {
  public:
    int64_t next() { return static_cast<int64_t>(given[at_++]); }

    template <class List>
    List list() {
        List values(static_cast<size_t>(next()), 0);
        for (auto& value : values) value = static_cast<typename List::value_type>(next());
        return values;
    }

    const double* rest() const { return given.data() + at_; }
    int64_t left() const { return static_cast<int64_t>(given.size() - at_); }

  private:
    size_t at_ = 0;
};

constexpr int64_t kMostChoices = 30000;  // codes count them in 16 bits

// A batch of one: name of the family, options, shape, size, scores.
struct Problem {
    Reader reader;
    std::string family = reader.list<std::string>();
    Whole options = reader.list<Whole>();
    Whole shape = reader.list<Whole>();
    Whole size = reader.list<Whole>();
    Scores scores{reader.rest(), size.data(), 1, shape, size, options, {1}};
    Operations operations = find_family(family, options);

    // Check the shape: scores must not be read beyond their end.
    Problem() {
        Layout layout = find_registration(family, options).layout({shape}, options);
        expect_same("shape", layout.shape, shape);
        layout.shape.resize(layout.sides);
        expect_same("size", layout.shape, size);
        expect_same("number of scores", {scores.parts()}, {reader.left()});
        if (layout.choices > kMostChoices)
            fail(family + ": scores of shape (" + join(shape.data(), shape.size()) +
                 ") give more than " + std::to_string(kMostChoices) + " choices");
    }

  private:
    void expect_same(const char* what, const Whole& expected, const Whole& got) {
        if (expected != got)
            fail(family + ": " + what + ": expected (" + join(expected.data(), expected.size()) +
                 "), got (" + join(got.data(), got.size()) + ")");
    }
};

template <class List>
void write(const List& values) {
    answer.push_back(static_cast<double>(values.size()));
    for (auto value : values) answer.push_back(static_cast<double>(value));
}

void begin_answer(const Structures& found) {
    answer.clear();
    write(found.part_counts);
    write(found.parts);
    write(found.events);
}

}  // namespace
}  // namespace sparsewood

using namespace sparsewood;

// Memory for a problem of `count` numbers.
SPARSEWOOD_EXPORT(room) double* room(size_t count) {
    given.resize(count);
    return given.data();
}

SPARSEWOOD_EXPORT(answer) const double* answer_data() { return answer.data(); }

SPARSEWOOD_EXPORT(answer_size) size_t answer_size() { return answer.size(); }

// part counts, parts, events, scores
SPARSEWOOD_EXPORT(kbest) void kbest(double k) {
    Problem problem;
    Ranking best = problem.operations.kbest(problem.scores, static_cast<int64_t>(k), 1).front();
    begin_answer(best);
    std::vector<double> sums;
    const int64_t* part = best.parts.data();
    for (int64_t count : best.part_counts) {
        double sum = 0;
        for (int64_t i = 0; i < count; ++i) sum += problem.scores.data[*part++];
        sums.push_back(sum);
    }
    write(sums);
}

// part counts, parts, events, weights, marginals, then gap, status, calls, temperature, canonical
SPARSEWOOD_EXPORT(sparsemap)
void sparsemap(double temperature, double tol, double max_active, double max_iter,
               double max_support, int canonical) {
    Problem problem;
    Limits limits{tol, static_cast<int64_t>(max_active), static_cast<int64_t>(max_iter)};
    Request request{limits, static_cast<int64_t>(max_support), canonical != 0};
    Solution found = problem.operations.solve(problem.scores, &temperature, request, 1).front();
    begin_answer(found);
    write(found.weights);
    std::vector<double> marginals(static_cast<size_t>(problem.scores.parts()));
    const int64_t* part = found.parts.data();
    for (size_t a = 0; a < found.weights.size(); ++a)
        for (int64_t i = 0; i < found.part_counts[a]; ++i)
            marginals[static_cast<size_t>(*part++)] += found.weights[a];
    write(marginals);
    for (double value :
         {found.gap, static_cast<double>(found.status), static_cast<double>(found.calls),
          found.temperature, static_cast<double>(found.canonical)})
        answer.push_back(value);
}

// Exceptions of the standard library end a call like bad input.
[[noreturn]] static void give_up(const char* message) {
    throw_in_javascript(message, std::strlen(message));
}

_LIBCPP_BEGIN_NAMESPACE_STD
void __libcpp_verbose_abort(const char* format, ...) noexcept { give_up(format); }
_LIBCPP_END_NAMESPACE_STD

void* operator new(size_t bytes) {
    if (void* memory = std::malloc(bytes)) return memory;
    give_up("the problem needs more memory than there is");
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
