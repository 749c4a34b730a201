// The families by name. Each is compiled in a file of its own in families/.
#pragma once

#include "batch.h"

namespace sparsewood {

Operations trees(const Whole& options);
Operations chain(const Whole& options);
Operations semi_markov(const Whole& options);
Operations subset(const Whole& options);
Operations simplex(const Whole& options);
Operations binary_trees(const Whole& options);
Operations bounded_trees(const Whole& options);
Operations labelled_trees(const Whole& options);
Operations matching(const Whole& options);
Operations alignment(const Whole& options);

struct NamedFamily {
    const char* name;
    Operations (*operations)(const Whole& options);
};

constexpr NamedFamily kFamilies[] = {
    {"trees", trees},
    {"chain", chain},
    {"semi_markov", semi_markov},
    {"subset", subset},
    {"simplex", simplex},
    {"binary_trees", binary_trees},
    {"bounded_trees", bounded_trees},
    {"labelled_trees", labelled_trees},
    {"matching", matching},
    {"alignment", alignment},
};

}  // namespace sparsewood
