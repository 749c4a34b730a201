"""The scores of a `BetweenArcScorer` for all pairs of words, and their gradients."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from sparsewood.nn import _cuda_between
from sparsewood.nn._pairs import NativePairs, chunks, has_native, refuse_second_derivative


def score_pairs_between(
    heads: Tensor, dependents: Tensor, prefixes: Tensor, table: Tensor, v: Tensor
) -> Tensor:
    """The scores of `PairsBetween` by native code, kernels or PyTorch."""
    pairs = NativePairs if has_native(heads) else PairsBetween
    scores: Any = pairs.apply(heads, dependents, prefixes, table, v)
    return scores


class PairsBetween(torch.autograd.Function):
    """v^T tanh(heads + dependents + W_dir tanh([sum, least, greatest]) + e) for all pairs.

    heads (B, n + 1, k), dependents (B, n, k), prefix sums (B, n + 1, C) in double, a table
    (6 C + 4, k) with the rows of both W_dir and the four e, v (k,) -> (B, n, n + 1). Like
    `PairwiseTanh`, it works in chunks of dependents and saves the hidden layer of a single chunk.
    """

    @staticmethod
    def forward(
        ctx: Any, heads: Tensor, dependents: Tensor, prefixes: Tensor, table: Tensor, v: Tensor
    ) -> Tensor:
        ctx.by_kernels = _cuda_between.serves(heads, prefixes)
        if ctx.by_kernels:
            ctx.save_for_backward(heads, dependents, prefixes, table, v, None)
            return _cuda_between.score_pairs(heads, dependents, prefixes, table, v)
        hidden = None
        scores = dependents.new_empty(*dependents.shape[:2], heads.shape[1])
        slices = chunks(heads, dependents)
        for rows in slices:
            seen = _see(prefixes, rows, heads.dtype)
            hidden = _hidden(heads, dependents[:, rows], seen.features() @ table)
            scores[:, rows] = hidden @ v
        kept = hidden if len(slices) == 1 else None
        ctx.save_for_backward(heads, dependents, prefixes, table, v, kept)
        return scores

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        refuse_second_derivative("BetweenArcScorer")
        (on_scores,) = gradients
        heads, dependents, prefixes, table, v, kept = ctx.saved_tensors
        if ctx.by_kernels:
            given = (heads, dependents, prefixes, table, v)
            return _cuda_between.backward_pairs(*given, on_scores)
        on_heads, on_dependents = torch.zeros_like(heads), torch.zeros_like(dependents)
        on_table, on_v, on_prefixes = map(torch.zeros_like, (table, v, prefixes))
        for rows in chunks(heads, dependents):
            seen = _see(prefixes, rows, heads.dtype)
            features = seen.features()
            if (hidden := kept) is None:
                hidden = _hidden(heads, dependents[:, rows], features @ table)
            on_rows = on_scores[:, rows].contiguous()
            on_v += on_rows.flatten() @ hidden.flatten(0, 2)
            # The factor v is common to all pairs, so it is applied after the sums.
            slope = torch.ops.aten.tanh_backward(on_rows[..., None].expand_as(hidden), hidden)
            on_heads += slope.sum(1)
            on_dependents[:, rows] = slope.sum(2)
            on_table += features.flatten(0, 2).mT @ slope.flatten(0, 2)
            on_prefixes += seen.backward(slope @ (table * v).mT, prefixes)
        return on_heads * v, on_dependents * v, on_prefixes, on_table * v, on_v


@dataclass(frozen=True)
class _Seen:
    """Features of the words between r dependents and all m heads."""

    values: Tensor  # (B, r, m, 3 C) tanh of sum, least and greatest
    at: Tensor  # (B, r, m, 3 C) position of the prefix sum of each value
    low: Tensor  # (r, m) position of the left word, whose prefix sum is subtracted
    right: Tensor  # (r, m) bool, whether the head is not left of the dependent
    apart: Tensor  # (r, m) bool, whether there is a word between

    def features(self) -> Tensor:
        """(B, r, m, 6 C + 4): one column per row of the table of weights."""
        right = self.right[..., None]
        place = one_hot(2 * self.right.long() + self.apart, 4).to(self.values.dtype)
        sides = torch.cat([self.values * ~right, self.values * right], -1)
        return torch.cat([sides, place.expand(*sides.shape[:-1], 4)], -1)

    def backward(self, on_features: Tensor, prefixes: Tensor) -> Tensor:
        """The gradient of the prefix sums."""
        (batch, m, channels), count = prefixes.shape, self.values.shape[-1]
        left, right, _ = on_features.split([count, count, 4], -1)
        on_values = torch.where(self.right[..., None], right, left)
        slope = torch.ops.aten.tanh_backward(on_values, self.values).to(prefixes.dtype)
        found = prefixes.new_zeros(batch, m, count)
        found.scatter_add_(1, self.at.flatten(1, 2), slope.flatten(1, 2))
        low = self.low[..., None].expand_as(slope)
        found.scatter_add_(1, low.flatten(1, 2), -slope.flatten(1, 2))
        return found.view(batch, m, 3, channels).sum(2)


def _see(prefixes: Tensor, rows: slice, dtype: torch.dtype) -> _Seen:
    """The features between the dependents `rows` + 1 and all heads; ties go to the leftmost."""
    channels = prefixes.shape[2]
    word = torch.arange(prefixes.shape[1], device=prefixes.device)
    dependent = word[1:][rows, None]
    low = torch.minimum(dependent, word)
    distance = (dependent - word).abs()
    right = word >= dependent
    last = (low + distance - 1).maximum(low)[..., None]
    extremes = _extremes(torch.cat([prefixes, -prefixes], -1), right).maximum(low[..., None])
    at = torch.cat([last.expand(*extremes.shape[:-1], channels), extremes], -1)
    threefold = prefixes.repeat(1, 1, 3)
    ends = threefold.gather(1, at.flatten(1, 2)).view(at.shape)
    values = torch.tanh(ends - threefold[:, low]).to(dtype)
    return _Seen(values, at, low, right, distance > 1)


def _extremes(sums: Tensor, right: Tensor) -> Tensor:
    """The position of the minimum of sums (B, m, c) between each pair; ties go to the leftmost.

    The range ends before the right one of the two words. `right` (r, m) as in `_Seen`.
    """
    sums, right = sums[:, None], right[..., None]
    word = torch.arange(sums.shape[2], device=sums.device)[:, None]
    # From the dependent to the right: a new minimum is less than all previous sums.
    least = sums.masked_fill(~right, torch.inf).cummin(2).values
    before = torch.cat([torch.full_like(least[:, :, :1], torch.inf), least[:, :, :-1]], 2)
    onwards = torch.where((sums < before) & right, word, 0).cummax(2).values
    onwards = torch.cat([onwards[:, :, :1], onwards[:, :, :-1]], 2)
    # From the dependent to the left: a new minimum is at most all previous sums.
    least = sums.masked_fill(right, torch.inf).flip(2).cummin(2).values.flip(2)
    found = torch.where((sums == least) & ~right, word, len(word))
    return torch.where(right, onwards, found.flip(2).cummin(2).values.flip(2))


def _hidden(heads: Tensor, dependents: Tensor, between: Tensor) -> Tensor:
    """tanh of the sum for each pair: (B, m, k), (B, r, k), (B, r, m, k) -> (B, r, m, k)."""
    return between.add_(heads[:, None]).add_(dependents[:, :, None]).tanh_()
