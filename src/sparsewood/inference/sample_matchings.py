r"""Exact samples of matchings by rejection.

The sum over all matchings is a permanent, #P-hard to compute (Valiant 1979), but an upper bound
that is consistent under removal of a row and a column suffices for sampling. For a square matrix A
with entries in [0, 1] and row sums r (Huber & Law 2008, "Fast approximation of the permanent for
very dense problems", section 2)

    per(A) <= M(A) = prod_i h(r_i) / e,        sum_i A[i, j] M(A without i, j) <= M(A)  for all j
    h(r) = r + log(r) / 2 + e - 1  for r >= 1,      h(r) = 1 + (e - 1) r  for r <= 1

A trial goes through the columns, assigns column j to row i with probability
`A[i, j] M(A without i, j) / M(A)`, and is rejected with the remaining probability. Every matching
is accepted with probability `weight / M(A)`, so accepted trials are exact samples. Rows and columns
are first scaled to sum to one (Sinkhorn), which changes no probability and tightens the bound.
"""

import math

import torch
from torch import Tensor

from sparsewood._internal.numbers import check_whole, within_reach
from sparsewood.calls import count
from sparsewood.inference._check import check_finite, check_input, check_temperature
from sparsewood.inference._check_sums import potentials
from sparsewood.structures.matching import Matching
from sparsewood.structures.recursions import FORBIDDEN

_SCALINGS = 100  # rounds of Sinkhorn's scaling
_WIDE = 8.0  # larger log-weights are scaled in several steps
_TOGETHER = 4096  # trials per batch


def sample_matchings(
    scores: Tensor,
    structure: Matching,
    n: int = 1,
    *,
    lengths: Tensor | None = None,
    temperature: float | Tensor = 1.0,
    generator: torch.Generator | None = None,
    max_trials: int = 10_000_000,
) -> Tensor:
    """`n` independent, exact samples of `p(h) ~ exp(<scores, m(h)> / temperature)`.

    The number of trials per sample grows with the size of the matching: slowly if scores are nearly
    equal or one matching dominates, fast in between. About 20 rows take seconds.

    Args:
        scores: (*batch, n, m), floating; -inf forbids a pair.
        structure: full or partial matchings.
        n: number of samples per instance.
        lengths: (*batch, 2), rows and columns of each instance.
        temperature: a positive number, or (*batch,) one per instance.
        generator: random number generator on the device of `scores`.
        max_trials: maximum total number of trials, over all samples and instances.

    Returns:
        (n, *batch, rows) int64, the column of each row, -1 if unmatched.

    Raises:
        ValueError: bad input, as for `marginals`.
        RuntimeError: `max_trials` was reached.
    """
    n = check_whole("n", n)
    max_trials = check_whole("max_trials", max_trials, least=0, most=2**62)
    if not isinstance(structure, Matching):
        raise ValueError(f"structure: expected a Matching, got {structure!r}")
    batch, scores, lengths = check_input(scores, structure, lengths)
    temperature = check_temperature(temperature, scores, batch)
    with torch.no_grad(), batch:
        reads = structure.reads(scores, lengths)
        check_finite(scores, reads)
        theta = potentials(scores, reads, temperature)
        count("map", len(scores))
        structure.argmax(within_reach(scores), lengths)  # raises if an instance has no matching
        matrix = _scaled(_square(theta, structure.partial, lengths))
        count("samples", n * len(scores))
        sampler = _Rejection(matrix, generator)
        columns = sampler.draw(n, max_trials)[..., : scores.shape[1]]
    limit = scores.shape[2] if lengths is None else lengths[:, 1:]
    real = columns < limit
    if lengths is not None:
        real &= torch.arange(scores.shape[1], device=scores.device) < lengths[:, :1]
    return batch.restore(torch.where(real, columns, -1), 1)


def _square(theta: Tensor, partial: bool, lengths: Tensor | None) -> Tensor:
    """Log-weights (B, N, N) whose perfect matchings represent each matching equally often.

    Partial matchings: an unmatched row takes an extra column of its own. Extra rows of weight 1
    take the remaining columns, in the same number of ways for every matching; extra columns do the
    same. Other padding is matched on the diagonal.
    """
    batch, n, m = theta.shape
    if partial:
        own = theta.new_full((n, n), FORBIDDEN).fill_diagonal_(0.0)
        left = torch.cat([theta, own.expand(batch, n, n)], 2)
        return torch.cat([left, theta.new_zeros(batch, m, n + m)], 1)
    size = max(n, m)
    index = torch.arange(size, device=theta.device)
    if lengths is None:
        lengths = torch.tensor([n, m], device=theta.device).expand(batch, 2)
    rows, columns = (index < lengths[:, k, None] for k in (0, 1))
    inside = index < lengths.amax(-1, keepdim=True)
    filling = inside[:, :, None] & inside[:, None] & ~(rows[:, :, None] & columns[:, None])
    diagonal = ~inside[:, :, None] & (index[:, None] == index)
    square = theta.new_full((batch, size, size), FORBIDDEN)
    square[:, :n, :m] = theta
    return torch.where(filling | diagonal, 0.0, square)


def _scaled(log_weights: Tensor) -> Tensor:
    """Scale rows and columns of (B, N, N) to sum to one, then the maximum of each row to one."""
    # Scaling converges slowly if weights differ widely, so it first runs on tempered weights.
    finite = torch.where(log_weights > FORBIDDEN, log_weights, 0.0)
    halvings = (finite.abs().amax((-2, -1)) / _WIDE).clamp(min=1.0).log2().ceil()  # per instance
    for k in range(int(halvings.amax()) if len(finite) else 0, 0, -1):
        wide = halvings >= k
        log_weights[wide] = _tempered_scaling(log_weights[wide], 2.0**k)
    for _ in range(_SCALINGS):
        log_weights = log_weights - log_weights.logsumexp(-2, keepdim=True)
        log_weights = log_weights - log_weights.logsumexp(-1, keepdim=True)
    return (log_weights - log_weights.amax(-1, keepdim=True)).exp()


def _tempered_scaling(log_weights: Tensor, temperature: float) -> Tensor:
    for _ in range(_SCALINGS // 5):
        for side in (-2, -1):
            excess = (log_weights / temperature).logsumexp(side, keepdim=True)
            log_weights = log_weights - temperature * excess
    return log_weights


class _Rejection:
    """Trials for a batch of matrices (B, N, N) with entries in [0, 1]."""

    def __init__(self, matrix: Tensor, generator: torch.Generator | None) -> None:
        self.matrix = matrix
        self.generator = generator

    def draw(self, n: int, max_trials: int) -> Tensor:
        """(n, B, N): the column of each row."""
        batch, size, _ = self.matrix.shape
        found = torch.zeros(n, batch, size, dtype=torch.int64, device=self.matrix.device)
        have = torch.zeros(batch, dtype=torch.int64, device=self.matrix.device)
        trials = 0
        while (have < n).any():
            open_ = (have < n).nonzero().squeeze(1)
            if trials >= max_trials:
                raise RuntimeError(
                    f"{trials} trials gave {int(have[open_[0]])} of {n} samples of instance "
                    f"{int(open_[0])}: increase max_trials, or use smaller instances"
                )
            which = open_.repeat(max(1, _TOGETHER // len(open_)))
            columns, accepted = self.trial(which)
            trials += len(which)
            columns, which = columns[accepted], which[accepted]
            order = which.sort(stable=True).indices
            columns, which = columns[order], which[order]
            first = torch.searchsorted(which, which)  # the first trial of each instance
            place = have[which] + torch.arange(len(which), device=which.device) - first
            fits = place < n
            found[place[fits], which[fits]] = columns[fits]
            have = (have + torch.bincount(which, minlength=batch)).clamp(max=n)
        return found

    def trial(self, which: Tensor) -> tuple[Tensor, Tensor]:
        """One trial per matrix index in `which` (T,): columns (T, N), and (T,) whether accepted."""
        matrix = self.matrix[which]
        count, size, _ = matrix.shape
        sums = matrix.sum(-1)
        log_bound = _log_h(sums)
        free = torch.ones_like(sums, dtype=torch.bool)
        accepted = torch.ones_like(which, dtype=torch.bool)
        columns = torch.zeros(count, size, dtype=torch.int64, device=which.device)
        for j in range(size):
            entries = torch.where(free, matrix[:, :, j], 0.0)
            sums = (sums - entries).clamp(min=0.0)
            rest = _log_h(sums)
            change = torch.where(free, rest - log_bound, 0.0).sum(-1, keepdim=True)
            share = entries * (change - rest + 1.0).exp()
            total = share.cumsum(-1)
            point = torch.rand(
                count, 1, dtype=sums.dtype, device=sums.device, generator=self.generator
            )
            accepted &= point.squeeze(1) < total[:, -1]
            row = (total <= point).sum(-1, keepdim=True).clamp(max=size - 1)
            columns.scatter_(1, row, j)
            free.scatter_(1, row, False)
            log_bound = rest
        return columns, accepted


def _log_h(r: Tensor) -> Tensor:
    many = r + 0.5 * r.clamp(min=1.0).log() + (math.e - 1)
    return torch.where(r >= 1, many, 1 + (math.e - 1) * r).log()
