// Operations on padded batches of one family on the CPU, independent of Python: called by the
// bindings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "group/fail.h"
#include "solver/solver.h"

namespace sparsewood {

using Whole = std::vector<int64_t>;

inline std::string join(const int64_t* values, size_t count) {
    std::string text;
    for (size_t d = 0; d < count; ++d) text += (d ? ", " : "") + std::to_string(values[d]);
    return text;
}

// The scores in the caller's array.
struct Scores {
    const double* data;    // (batch, *shape)
    const int64_t* sizes;  // (batch, *full.size())
    int64_t batch;
    Whole shape;    // of one instance
    Whole full;     // the size of an instance that fills its array
    Whole options;  // of the family
    Whole given;    // the shape of the batch as the caller knows it, for messages
    const float* narrow = nullptr;  // the scores instead of `data`, if they are float32

    int64_t parts() const {
        int64_t count = 1;
        for (int64_t d : shape) count *= d;
        return count;
    }

    // Calls f(scores of instance b).
    template <class F>
    auto with_instance(int64_t b, F f) const {
        return narrow ? f(narrow + b * parts()) : f(data + b * parts());
    }

    // "instance 5", or "instance (1, 2)" of a batch that the caller knows as (2, 3).
    std::string name(int64_t b) const;
    // "scores[5, 1]", or "scores[1, 2, 1]"; without an index "temperature[5]".
    std::string name(const char* what, int64_t b, const Whole& index = {}) const;
    std::string shapes() const;
    std::string shapes(int64_t b) const;

    // The size of instance b, checked to be in range.
    const int64_t* size(int64_t b) const {
        const int64_t* n = sizes + b * dims();
        for (size_t d = 0; d < full.size(); ++d)
            if (n[d] < 1 || n[d] > full[d])
                fail(name("lengths", b) + " is " + join(n, full.size()) +
                     ", expected 1 to " + join(full.data(), full.size()) + "; " + shapes());
        return n;
    }

    [[noreturn]] void no_structure(int64_t b) const {
        fail(name(b) + " has no structure left: each uses a part that is forbidden (-inf); " +
             shapes(b));
    }

    [[noreturn]] void reject(int64_t b, int64_t part, double score) const;

  private:
    Whole given_index(int64_t b) const;
    int64_t dims() const { return static_cast<int64_t>(full.size()); }
};

// The options of a solve.
struct Request {
    Limits limits;
    int64_t max_support = 0;  // lower the temperature until so many structures suffice; 0: do not
    bool canonical = false;   // the weights are those of canonical.h
    bool events = true;       // structures are also listed in the caller's encoding
};

// Structures of one instance.
struct Structures {
    Whole events;       // (size, event), or none
    Whole parts;        // of all structures, concatenated
    Whole part_counts;  // (size)

    template <class Family>
    void append(const Family& family, const int16_t* code, bool with_event = true) {
        size_t before = parts.size();
        if (with_event) {
            size_t event = static_cast<size_t>(family.event_size());
            events.resize(events.size() + event);
            family.event(Thread{}, code, events.data() + events.size() - event);
        }
        for (int i = 0; i < family.slots; ++i) {
            int64_t part = family.part(i, code[i]);
            if (part >= 0) parts.push_back(part);
        }
        part_counts.push_back(static_cast<int64_t>(parts.size() - before));
    }
};

// The posterior of one instance.
struct Solution : Structures {
    std::vector<double> weights;  // (size)
    std::vector<double> factor;   // packed lower triangle
    double gap = 0;
    Status status = Status::kStalled;  // solved, capped, stalled or limited
    int calls = 0;
    bool canonical = false;  // the weights are those of canonical.h
    double temperature = 1;  // of the solution
    Whole tie;               // parts of the structure that would enter above that temperature
};

// The best structures of one instance.
struct Ranking : Structures {
    int64_t calls = 0;
};

// The operations on a batch of one family.
struct Operations {
    // The highest-scoring structure of each instance: events (batch, event).
    void (*argmax)(const Scores& scores, int threads, int64_t* events);
    // The k highest-scoring structures of each instance, best first, or all if there are fewer.
    std::vector<Ranking> (*kbest)(const Scores& scores, int64_t k, int threads);
    // SparseMAP of each instance at its temperature.
    std::vector<Solution> (*solve)(const Scores& scores, const double* temperature,
                                   const Request& request, int threads);
};

// The operations of a family by its name and options.
Operations find_family(const std::string& name, const Whole& options);

// A batch of posteriors in the caller's arrays.
struct Posteriors {
    const int64_t* parts;  // (total, width)
    const int64_t* sizes;  // (batch)
    const double* factor;  // packed lower triangles, concatenated
    int64_t batch;
    int64_t width;
    int64_t cells;  // parts of an instance
};

// out_weights (total) and out_parts (batch, cells, zeroed before) as in jacobian.h.
void apply_jacobians(const Posteriors& posteriors, const double* on_weights, const double* on_parts,
                     int threads, double* out_weights, double* out_parts);

}  // namespace sparsewood
