// The Jacobian of SparseMAP on a fixed support, from the saved factor.
//
// Around a solution weights and marginals are affine in the scores:
//     d weights = J M^T d theta,   d marginals = M J M^T d theta,
//     J = K^-1 - K^-1 1 1^T K^-1 / (1^T K^-1 1)
// One symmetric operator serves forward, backward and double backward:
//     x = J (on_weights + M^T on_parts),   out_weights = x,   out_parts = M x.
#pragma once

#include "solver/cholesky.h"

namespace sparsewood {

// parts: (size, width) the parts of each structure, padded with -1. on_parts, out_parts: by part,
// out_parts zeroed before. ones: (size) scratch. On: an array, or an object that can be indexed
// like one.
template <class G, class On>
SPARSEWOOD_HD void apply_jacobian(const G& g, const int64_t* parts, int size, int64_t width,
                                  const double* factor, const On& on_weights, const On& on_parts,
                                  double* out_weights, double* out_parts, double* ones) {
    double* x = out_weights;
    for (int a = g.lane(); a < size; a += g.size()) {
        const int64_t* h = parts + a * width;
        double s = on_weights[a];
        for (int64_t i = 0; i < width && h[i] >= 0; ++i) s += on_parts[h[i]];
        x[a] = s;
        ones[a] = 1;
    }
    g.sync();
    Cholesky f{size, const_cast<double*>(factor), nullptr, ones};
    forward(g, factor, size, ones, 0);
    f.jacobian(g, x);
    for (int a = 0; a < size; ++a) {
        const int64_t* h = parts + a * width;
        double v = x[a];
        for (int64_t i = g.lane(); i < width && h[i] >= 0; i += g.size()) out_parts[h[i]] += v;
        g.sync();
    }
}

}  // namespace sparsewood
