// The maximum of a sum of two rows, the basic step of charts and chains.
#pragma once

#include "group/group.h"

namespace sparsewood {

// max_k a[k] + b[k] over n entries, in four partial maxima that fill the pipeline.
SPARSEWOOD_HD inline double best_sum(const double* a, const double* b, int n) {
    double m[4] = {kForbidden, kForbidden, kForbidden, kForbidden};
    int k = 0;
    for (; k + 4 <= n; k += 4)
        for (int v = 0; v < 4; ++v) {
            double s = a[k + v] + b[k + v];
            m[v] = s > m[v] ? s : m[v];
        }
    for (; k < n; ++k) {
        double s = a[k] + b[k];
        m[0] = s > m[0] ? s : m[0];
    }
    double p = m[0] > m[1] ? m[0] : m[1], q = m[2] > m[3] ? m[2] : m[3];
    return p > q ? p : q;
}

// The index of that maximum; ties go to the first.
SPARSEWOOD_HD inline int best_sum_at(const double* a, const double* b, int n) {
    int best = 0;
    for (int k = 1; k < n; ++k)
        if (a[k] + b[k] > a[best] + b[best]) best = k;
    return best;
}

}  // namespace sparsewood
