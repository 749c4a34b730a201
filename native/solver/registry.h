// Registration of families by their files in families/.
//
// SPARSEWOOD_FAMILY(name, options, Struct) registers the number of options and the struct of a
// family; the function layout_of_<name> above it defines the layout of its scores. With two or four
// structs, the first one or two options choose one of them: (false, false), (false, true),
// (true, false), (true, true). Kernels include families/<name>.h for the same struct, which Python
// looks up by `_native.families()`.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "solver/operations.h"

namespace sparsewood {

// The sides of a shape, 1 beyond the last; clamped so that products do not overflow.
struct Sides {
    const Whole& shape;
    int64_t operator[](size_t d) const {
        return d < shape.size() ? std::min(shape[d], int64_t{1} << 30) : 1;
    }
};

// The layout of the scores of one instance.
struct Layout {
    Whole shape;      // the expected shape
    size_t sides;     // number of leading sides that are the size of an instance
    int64_t choices;  // an upper bound on the options of a slot
};

constexpr size_t kAnyOptions = ~size_t{0};  // a family with a list of options, such as a graph

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
