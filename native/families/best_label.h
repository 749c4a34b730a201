// The best of the L labels of a part.
#pragma once

#include "group/group.h"

namespace sparsewood {

// Its score, in four partial maxima that fill the pipeline.
SPARSEWOOD_HD inline double best_label_score(const double* scores, int labels) {
    double m[4] = {kForbidden, kForbidden, kForbidden, kForbidden};
    int k = 0;
    for (; k + 4 <= labels; k += 4)
        for (int v = 0; v < 4; ++v) m[v] = scores[k + v] > m[v] ? scores[k + v] : m[v];
    for (; k < labels; ++k) m[0] = scores[k] > m[0] ? scores[k] : m[0];
    double p = m[0] > m[1] ? m[0] : m[1], q = m[2] > m[3] ? m[2] : m[3];
    return p > q ? p : q;
}

// The label; ties go to the first.
SPARSEWOOD_HD inline int best_label(const double* scores, int labels) {
    int best = 0;
    for (int k = 1; k < labels; ++k)
        if (scores[k] > scores[best]) best = k;
    return best;
}

}  // namespace sparsewood
