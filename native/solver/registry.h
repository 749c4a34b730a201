// How a file of families/ makes its family known.
//
// SPARSEWOOD_FAMILY(name, options, Struct) gives the number of its options and the struct that
// implements it; the function layout_of_<name> above it says what its scores look like. With two
// structs, or four, the first option, or the first two, choose: (false, false), (false, true),
// (true, false), (true, true). Kernels include families/<name>.h for the same struct, which Python
// looks up by `_native.families()`.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "solver/operations.h"

namespace sparsewood {

// The sides of a shape, 1 beyond the last; no more than can be multiplied.
struct Sides {
    const Whole& shape;
    int64_t operator[](size_t d) const {
        return d < shape.size() ? std::min(shape[d], int64_t{1} << 30) : 1;
    }
};

// What the scores of one instance look like.
struct Layout {
    Whole shape;      // the one expected
    size_t sides;     // how many of them, from the first on, are the size of an instance
    int64_t choices;  // an upper bound on the options of a slot
};

struct Registration {
    size_t options;
    Layout (*layout)(Sides given, const Whole& options);
    const char* structs;
    Operations (*choose)(const Whole& options);
};

// All families by name.
const std::map<std::string, Registration>& registrations();

// The registration of a family with these options.
const Registration& find_registration(const std::string& name, const Whole& options);

template <class... Structs>
Operations choose(const Whole& options) {
    const Operations made[] = {operations_of<Structs>()...};
    size_t at = 0, flag = 0;
    for (size_t reach = 1; reach < sizeof...(Structs); reach *= 2)
        at = 2 * at + (options[flag++] != 0);
    return made[at];
}

struct Registered {
    Registered(const char* name, const Registration& registration);  // batch.cpp
};

}  // namespace sparsewood

#define SPARSEWOOD_FAMILY(name, options, ...)  \
    static const Registered registered_##name( \
        #name, {options, layout_of_##name, #__VA_ARGS__, choose<__VA_ARGS__>});
