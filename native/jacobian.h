// The Jacobian of SparseMAP on a fixed support, from the saved factor.
//
// Around a solution weights and marginals are affine in the scores:
//     d weights = J M^T d theta,   d marginals = M J M^T d theta,
//     J = K^-1 - K^-1 1 1^T K^-1 / (1^T K^-1 1)
// One symmetric operator serves forward, backward and double backward:
//     x = J (on_weights + M^T on_parts),   out_weights = x,   out_parts = M x.
#pragma once

#include "factor.h"

namespace spinney {

// structures: (size, words) with `slots` of each in use; parts: (words, words + 1), out_parts
// zeroed before. x, ones: (size) scratch.
template <class G>
SPINNEY_HD void apply_jacobian(const G& g, const int64_t* structures, int size, int slots,
                               int64_t words, const double* factor, const double* on_weights,
                               const double* on_parts, double* out_weights, double* out_parts,
                               double* ones) {
    double* x = out_weights;
    for (int a = g.lane(); a < size; a += g.size()) {
        const int64_t* h = structures + a * words;
        double s = on_weights[a];
        for (int i = 0; i < slots; ++i) s += on_parts[i * (words + 1) + h[i]];
        x[a] = s;
        ones[a] = 1;
    }
    g.sync();
    Factor f{size, const_cast<double*>(factor), nullptr, ones};
    f.forward(g, ones);
    f.jacobian(g, x);
    for (int a = 0; a < size; ++a) {
        const int64_t* h = structures + a * words;
        double v = x[a];
        for (int i = g.lane(); i < slots; i += g.size()) out_parts[i * (words + 1) + h[i]] += v;
        g.sync();
    }
}

}  // namespace spinney
