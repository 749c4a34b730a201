// How a file of families/ makes its family known: by name, and by the structs that stand for it.
//
// SPARSEWOOD_FAMILY(name, Struct) has one struct for all options. With two, or four, the first
// option, or the first two, choose: (false, false), (false, true), (true, false), (true, true).
// src/sparsewood/structures/_kernels.py has the same list for kernels.
#pragma once

#include "solver/operations.h"

namespace sparsewood {

using Family = Operations (*)(const Whole& options);

template <class... Variants>
Operations choose(const Whole& options) {
    const Operations made[] = {operations_of<Variants>()...};
    size_t at = 0, flag = 0;
    for (size_t reach = 1; reach < sizeof...(Variants); reach *= 2) {
        if (flag == options.size()) fail("a family is missing options");
        at = 2 * at + (options[flag++] != 0);
    }
    return made[at];
}

struct Registered {
    Registered(const char* name, Family family);  // batch.cpp
};

}  // namespace sparsewood

#define SPARSEWOOD_FAMILY(name, ...) \
    static const sparsewood::Registered registered_##name(#name, choose<__VA_ARGS__>);
