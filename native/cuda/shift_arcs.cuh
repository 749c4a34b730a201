// Shifts the scores of arcs in place, one block per sentence: ../sums/shift_arcs.h on a GPU.
#pragma once

#include "cuda/team.cuh"

// Arcs (B, n, cells). The first `root` cells of a row are arcs from the root if a tree has exactly
// one of them; 0: it may have several. `shared` is (B,), `vectors` (B, 2, n) scratch memory.
extern "C" __global__ void shift_arcs(double* arcs, int64_t n, int64_t cells, int64_t root,
                                      int64_t width, double* vectors, double* shared) {
    using namespace sparsewood;
    Team team(width);
    int words = int(n), length = int(cells), roots = int(root);
    arcs += blockIdx.x * n * cells;
    double *tops = vectors + blockIdx.x * 2 * n, *root_tops = tops + n;
    team.rows(words, [&](int i, bool mine) {
        const double* row = arcs + i * cells;
        double top = largest(team, length - roots, [&](int j) { return row[roots + j]; });
        double root_top = largest(team, roots, [&](int j) { return row[j]; });
        if (mine && team.lane() == 0) tops[i] = top, root_tops[i] = root_top;
    });
    __syncthreads();

    double first = 0, second = 0, sum = 0;
    if (roots > 0) {
        first = or_zero(largest(team, words, [&](int i) { return root_tops[i]; }));
        second = or_zero(largest(team, words, [&](int i) {
            return is_empty(tops[i]) ? kForbiddenScore : root_tops[i] - first - tops[i];
        }));
    }
    // The row of a word whose only possible head is the root is shifted last.
    auto taken = [&](int i) {
        if (!is_empty(tops[i])) return tops[i];
        return roots > 0 && !is_empty(root_tops[i]) ? root_tops[i] - first - second : 0.0;
    };
    for (int i = team.lane(); i < words; i += team.width()) sum += taken(i);
    sum = team.sum(sum);
    if (threadIdx.x == 0) shared[blockIdx.x] = first + second + sum;
    team.rows(words, [&](int i, bool mine) {
        double *row = arcs + i * cells, top = taken(i);
        for (int j = team.lane(); j < length && mine; j += team.width())
            row[j] = j < roots ? row[j] - first - top - second : row[j] - top;
    });
}
