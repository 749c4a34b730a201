#include "solver/batch.h"

#include <cmath>

#include "group/instances.h"
#include "solver/jacobian.h"
#include "solver/registry.h"

namespace sparsewood {

Whole Scores::given_index(int64_t b) const {
    Whole index(given.size());
    for (size_t d = given.size(); d-- > 0; b /= given[d]) index[d] = b % given[d];
    return index;
}

std::string Scores::name(int64_t b) const {
    Whole index = given_index(b);
    return "instance " + (index.size() == 1 ? join(index.data(), index.size()) : "(" + join(index.data(), index.size()) + ")");
}

std::string Scores::name(const char* what, int64_t b, const Whole& index) const {
    Whole whole = given_index(b);
    whole.insert(whole.end(), index.begin(), index.end());
    return whole.empty() ? what : what + ("[" + join(whole.data(), whole.size()) + "]");
}

std::string Scores::shapes() const {
    Whole whole = given;
    whole.insert(whole.end(), shape.begin(), shape.end());
    return "scores has shape (" + join(whole.data(), whole.size()) + ")";
}

std::string Scores::shapes(int64_t b) const {
    return shapes() + ", " + name(b) + " has length " + join(sizes + b * dims(), full.size());
}

void Scores::reject(int64_t b, int64_t part, double score) const {
    Whole index(shape.size());
    for (size_t d = shape.size(); d-- > 0; part /= shape[d]) index[d] = part % shape[d];
    const char* what = std::isnan(score)   ? " is NaN"
                       : std::isinf(score) ? " is +inf"
                                           : " / temperature is beyond 1e200";
    fail(name("scores", b, index) + what + "; " + shapes(b));
}

// Created on first use, as families register in any order.
static std::map<std::string, Registration>& known() {
    static std::map<std::string, Registration> by_name;
    return by_name;
}

Registered::Registered(const char* name, const Registration& registration) {
    known()[name] = registration;
}

const std::map<std::string, Registration>& registrations() { return known(); }

const Registration& find_registration(const std::string& name, const Whole& options) {
    auto found = known().find(name);
    if (found == known().end()) fail("no native family is called " + name);
    if (found->second.options != kAnyOptions && found->second.options != options.size())
        fail(name + ": expected " + std::to_string(found->second.options) + " options, got (" +
             join(options.data(), options.size()) + ")");
    return found->second;
}

Operations find_family(const std::string& name, const Whole& options) {
    return find_registration(name, options).choose(options);
}

void apply_jacobians(const Posteriors& p, const double* on_weights, const double* on_parts,
                     int threads, double* out_weights, double* out_parts) {
    size_t batch = static_cast<size_t>(p.batch);
    Whole first(batch + 1, 0), packed(batch + 1, 0);
    for (size_t b = 0; b < batch; ++b) {
        first[b + 1] = first[b] + p.sizes[b];
        packed[b + 1] = packed[b] + Cholesky::packed(p.sizes[b]);
    }
    for_each_instance(
        p.batch, threads, [] { return std::vector<double>(); },
        [&](std::vector<double>& ones, int64_t b) {
            size_t i = static_cast<size_t>(b), size = static_cast<size_t>(p.sizes[b]);
            if (ones.size() < size) ones.resize(size);
            apply_jacobian(Thread{}, p.parts + first[i] * p.width, static_cast<int>(size), p.width,
                           p.factor + packed[i], on_weights + first[i], on_parts + b * p.cells,
                           out_weights + first[i], out_parts + b * p.cells, ones.data());
        });
}

}  // namespace sparsewood
