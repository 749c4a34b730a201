// Families behind a run-time interface, to reduce code size.
//
// AnyFamily holds a family by an interface and is a family itself (family.h). WebAssembly has one
// solver for families with empty options and one for those without. Elsewhere, where speed matters
// more than size, the solver is instantiated per family.
#pragma once

#include <memory>

#include "canonical/by_facets.h"

namespace sparsewood {

// The interface of Facets<Family>.
struct SomeFacets {
    virtual ~SomeFacets() = default;
    virtual bool is_unique(const double* theta, const Pool& pool) const = 0;
    virtual void begin(const double* theta, Pool& pool) = 0;
    virtual bool separate(Pool& pool) = 0;
};

// The interface of a family.
struct SomeFamily {
    virtual ~SomeFamily() = default;
    virtual std::unique_ptr<SomeFamily> copy() const = 0;
    virtual void set_size(const int64_t* size, const int64_t* shape, const int64_t* options) = 0;
    virtual void lay_out(Arena& arena) = 0;
    virtual void lay_out_cross(Arena& arena) = 0;
    virtual int64_t base(int slot) const = 0;
    virtual Row row(int r) const = 0;
    virtual int64_t part(int slot, int option) const = 0;
    virtual bool ask(const double* table, int16_t* code) = 0;
    virtual double cross(const double* table, int16_t* a, const int16_t* b) = 0;
    virtual void fix(double* table, int slot, int option) const = 0;
    virtual void shift(double* table) const = 0;
    virtual int64_t event_size() const = 0;
    virtual void event(const int16_t* code, int64_t* out) const = 0;
    virtual int propose(const double* table) = 0;
    virtual void proposed(int c, int16_t* code) = 0;
    virtual int64_t penalised_cells() const = 0;
    virtual bool is_penalised(int64_t cell) const = 0;
    virtual int most_parts() const = 0;
    virtual void forget() = 0;
    virtual std::unique_ptr<SomeFacets> facets() = 0;  // null: they are not known
    double cross_gap;
    bool counts_empty = false;  // kEmpty of the facets
    int slots, penalised, rows, width;
};

template <class Family>
struct ThoseFacets final : SomeFacets {
    Family& family;
    Facets<Family> own;
    explicit ThoseFacets(Family& of) : family(of) {}
    bool is_unique(const double* theta, const Pool& pool) const override {
        return own.is_unique(family, theta, pool);
    }
    void begin(const double* theta, Pool& pool) override { own.begin(family, theta, pool); }
    bool separate(Pool& pool) override { return own.separate(pool); }
};

template <class Family>
struct ThatFamily final : SomeFamily {
    Family own;
    ThatFamily() {
        cross_gap = Family::kCross;
        if constexpr (Facets<Family>::kKnown) counts_empty = Facets<Family>::kEmpty;
    }
    std::unique_ptr<SomeFamily> copy() const override {
        return std::make_unique<ThatFamily>(*this);
    }
    void set_size(const int64_t* size, const int64_t* shape, const int64_t* options) override {
        own.set_size(size, shape, options);
        slots = own.slots, penalised = own.penalised, rows = own.rows, width = own.width;
    }
    void lay_out(Arena& arena) override { own.lay_out(arena); }
    void lay_out_cross(Arena& arena) override {
        if constexpr (Family::kCross > kNever) own.lay_out_cross(arena);
    }
    int64_t base(int slot) const override { return own.base(slot); }
    Row row(int r) const override { return own.row(r); }
    int64_t part(int slot, int option) const override { return own.part(slot, option); }
    bool ask(const double* table, int16_t* code) override { return own(Thread{}, table, code); }
    double cross(const double* table, int16_t* a, const int16_t* b) override {
        if constexpr (Family::kCross > kNever) return own.cross(table, a, b);
        return 0;
    }
    void fix(double* table, int slot, int option) const override { own.fix(table, slot, option); }
    void shift(double* table) const override { own.shift(Thread{}, table); }
    int64_t event_size() const override { return own.event_size(); }
    void event(const int16_t* code, int64_t* out) const override { own.event(Thread{}, code, out); }
    int propose(const double* table) override {
        return sparsewood::propose(own, Thread{}, table, 0);
    }
    void proposed(int c, int16_t* code) override {
        sparsewood::proposed(own, Thread{}, c, code, 0);
    }
    int64_t penalised_cells() const override { return sparsewood::penalised_cells(own); }
    bool is_penalised(int64_t cell) const override { return sparsewood::is_penalised(own, cell); }
    int most_parts() const override { return sparsewood::most_parts(own); }
    void forget() override { sparsewood::forget(own); }
    std::unique_ptr<SomeFacets> facets() override {
        if constexpr (Facets<Family>::kKnown) return std::make_unique<ThoseFacets<Family>>(own);
        return nullptr;
    }
};

template <bool Empty>
struct AnyFamily {
    static constexpr bool kEmpty = Empty;
    static constexpr double kCross = kAlways;  // an upper bound; see cross_gap()
    std::unique_ptr<SomeFamily> held;
    int slots, penalised, rows, width;

    AnyFamily() = default;
    explicit AnyFamily(std::unique_ptr<SomeFamily> family) : held(std::move(family)) {}
    AnyFamily(const AnyFamily& other) { *this = other; }
    AnyFamily(AnyFamily&&) = default;
    AnyFamily& operator=(AnyFamily&&) = default;
    AnyFamily& operator=(const AnyFamily& other) {
        held = other.held->copy();
        slots = other.slots, penalised = other.penalised, rows = other.rows, width = other.width;
        return *this;
    }

    void set_size(const int64_t* size, const int64_t* shape, const int64_t* options) {
        held->set_size(size, shape, options);
        slots = held->slots, penalised = held->penalised, rows = held->rows, width = held->width;
    }
    void lay_out(Arena& arena) { held->lay_out(arena); }
    void lay_out_cross(Arena& arena) { held->lay_out_cross(arena); }
    int64_t base(int slot) const { return held->base(slot); }
    Row row(int r) const { return held->row(r); }
    int64_t part(int slot, int option) const { return held->part(slot, option); }
    bool operator()(const Thread&, const double* table, int16_t* code) {
        return held->ask(table, code);
    }
    double cross(const double* table, int16_t* a, const int16_t* b) {
        return held->cross(table, a, b);
    }
    void fix(double* table, int slot, int option) const { held->fix(table, slot, option); }
    void shift(const Thread&, double* table) const { held->shift(table); }
    int64_t event_size() const { return held->event_size(); }
    void event(const Thread&, const int16_t* code, int64_t* out) const { held->event(code, out); }
    int propose(const Thread&, const double* table) { return held->propose(table); }
    void proposed(const Thread&, int c, int16_t* code) { held->proposed(c, code); }
};

template <bool Empty>
int64_t penalised_cells(const AnyFamily<Empty>& family) {
    return family.held->penalised_cells();
}
template <bool Empty>
bool is_penalised(const AnyFamily<Empty>& family, int64_t cell) {
    return family.held->is_penalised(cell);
}
template <bool Empty>
double cross_gap(const AnyFamily<Empty>& family) {
    return family.held->cross_gap;
}
template <bool Empty>
int most_parts(const AnyFamily<Empty>& family) {
    return family.held->most_parts();
}
template <bool Empty>
void forget(AnyFamily<Empty>& family) {
    family.held->forget();
}

template <bool Empty>
struct Facets<AnyFamily<Empty>> {
    using Family = AnyFamily<Empty>;
    static constexpr bool kKnown = true;
    bool kEmpty;
    std::unique_ptr<SomeFacets> held;  // null: not known

    bool is_unique(const Family&, const double* theta, const Pool& pool) const {
        return held && held->is_unique(theta, pool);
    }
    void begin(Family&, const double* theta, Pool& pool) {
        if (held) held->begin(theta, pool);
    }
    bool separate(Pool& pool) { return held && held->separate(pool); }
};

template <bool Empty>
Facets<AnyFamily<Empty>> facets_of(const AnyFamily<Empty>& family) {
    return {family.held->counts_empty, family.held->facets()};
}

}  // namespace sparsewood
