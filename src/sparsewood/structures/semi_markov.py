"""Segmentations of a sequence into labelled segments of limited length."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from sparsewood._internal.batch import given_shape
from sparsewood._internal.lengths import lengths_or_full
from sparsewood._internal.numbers import check_whole
from sparsewood.structures._listing import check_count
from sparsewood.structures._one_hot import one_hot
from sparsewood.structures._transitions import check_ends, ends, moves_into
from sparsewood.structures.base import Native, NativeStructure
from sparsewood.structures.recursions import Shifted, Total
from sparsewood.structures.recursions.chart_sums import Chart
from sparsewood.structures.recursions.segment_sums import segment_sums
from sparsewood.structures.recursions.semi_markov import segmentations, shift_segments

_OPTIONS_MAX = 32_767  # the native solver counts the scores of a position in 16 bits


class SegmentParts(NamedTuple):
    """The parts of a segmentation as two tables."""

    segments: Tensor  # (*batch, T, D, K)
    transition: Tensor  # (*batch, T - 1, K, K): from the label up to t (first K) to the next label


@dataclass(frozen=True)
class SemiMarkov(NativeStructure):
    """Segmentations of `T` positions into segments of at most `D = max_length`, with `K` labels.

    The parts are segments and transitions, `scores` (B, T, K, D + K):

        scores[b, t, k, d]      a segment of label k that starts at t and has length d + 1
        scores[b, t, k, D + j]  a segment of label k that starts at t after one of label j

    Segments that reach past the end and transitions into position 0 are never read. `pack` builds
    such scores from segment and transition tables. A segmentation is (T, 2) int64: (length, label)
    where a segment starts, (0, -1) elsewhere and in padding.

    The MAP oracle is the semi-Markov Viterbi algorithm (Sarawagi & Cohen 2004, "Semi-Markov
    conditional random fields for information extraction", section 3.2) in O(T D K + T K^2).

    Args:
        max_length: the longest segment.
        penalty: which parts carry the quadratic penalty of SparseMAP: "segments", which determine
            the transitions, or "both".

    Example:
        >>> family = sp.SemiMarkov(max_length=2)
        >>> segments = torch.zeros(1, 3, 2, 2)  # (B, T, D, K)
        >>> segments[0, 0, 1, 1] = segments[0, 2, 0, 0] = 1.0
        >>> family.argmax(family.pack(segments))
        tensor([[[ 2,  1],
                 [ 0, -1],
                 [ 1,  0]]])
    """

    max_length: int
    penalty: Literal["segments", "both"] = "segments"

    parts_ndim = 3

    def __post_init__(self) -> None:
        check_whole("SemiMarkov: max_length", self.max_length)
        if self.penalty not in ("segments", "both"):
            raise ValueError(
                f'SemiMarkov: penalty must be "segments" or "both", got {self.penalty!r}'
            )

    def pack(
        self,
        segments: Tensor,
        transition: Tensor | None = None,
        *,
        start: Tensor | None = None,
        end: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> Tensor:
        """Scores (*batch, T, K, D + K) from tables; differentiable.

        Args:
            segments: (*batch, T, D, K), scores of segments of length d + 1 and label k starting
                at t.
            transition: [j, k] scores label j to label k: (K, K), shared by all positions, or
                (*batch, T - 1, K, K), entry t for segments that start at t + 1. None: zeros.
            start, end: (K,) or (*batch, K), added for the label of the first and last segment.
            lengths: (*batch,), the number of positions of each instance. None: T.
        """
        shape = tuple(segments.shape)
        if len(shape) < 3 or shape[-2] != self.max_length or 0 in shape[-3:]:
            raise ValueError(
                f"segments: expected (*batch, T, {self.max_length}, K) with T, K >= 1, "
                f"got shape {shape}"
            )
        batch = shape[:-3]
        check_ends("segments", segments, batch, start, end)
        begins = torch.arange(shape[-3], device=segments.device)[:, None, None]
        if start is not None:
            segments = segments + torch.where(begins == 0, start[..., None, None, :], 0)
        if end is not None:
            last = self._stops(segments) == ends(lengths, segments, batch)
            segments = segments + torch.where(last[..., None], end[..., None, None, :], 0)
        moves = moves_into("segments", segments, batch, transition)
        return torch.cat([segments.transpose(-1, -2), moves], -1)

    def unpack(self, parts: Tensor) -> SegmentParts:
        """Split parts (*batch, T, K, D + K), such as marginals, into segments and transitions."""
        segments, moves = parts.split([self.max_length, parts.shape[-2]], -1)
        return SegmentParts(segments.transpose(-1, -2), moves[..., 1:, :, :].transpose(-1, -2))

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (shape[0], 2)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        shape, longest = tuple(scores.shape), self.max_length
        if scores.ndim != 4 or 0 in shape[1:] or shape[3] != longest + shape[2]:
            raise ValueError(
                f"segment scores: expected (*batch, T, K, {longest} + K) with T and K at least 1, "
                f"got shape {given_shape(shape)}"
            )
        if shape[2] * (1 + shape[3]) > _OPTIONS_MAX:
            raise ValueError(
                f"segment scores: K (1 + D + K) may be at most {_OPTIONS_MAX}, got shape "
                f"{given_shape(shape)}"
            )
        self.check_dtype_and_lengths("segment scores", scores, lengths)

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        batch, positions, labels, _ = scores.shape
        limit = lengths_or_full(lengths, scores)[:, None, None]
        starts = torch.arange(positions, device=scores.device)[:, None]
        segments = self._stops(scores) <= limit
        moves = ((starts > 0) & (starts < limit)).expand(batch, positions, labels)
        return torch.cat([segments.expand(batch, -1, -1), moves], -1)[:, :, None].expand_as(scores)

    def _stops(self, table: Tensor) -> Tensor:
        """(T, D): the end (exclusive) of each segment in a table (..., T, *, *)."""
        starts = torch.arange(table.shape[-3], device=table.device)[:, None]
        return starts + torch.arange(1, self.max_length + 1, device=table.device)

    def penalised(self, scores: Tensor) -> Tensor | None:
        if self.penalty == "both":
            return None
        segment = torch.arange(scores.shape[-1], device=scores.device) < self.max_length
        return segment.expand(scores.shape[1:])

    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        length, label = structures.unbind(-1)
        starts = length > 0
        # The label of the previous segment: the last start at an earlier position.
        steps = torch.arange(structures.shape[1], device=structures.device)
        latest = torch.where(starts, steps, -1).cummax(-1).values
        before = torch.nn.functional.pad(latest, (1, 0), value=-1)[:, :-1]
        previous = label.gather(1, before.clamp(min=0))
        segment = one_hot(torch.where(starts, length - 1, -1), self.max_length)
        move = one_hot(torch.where(starts & (before >= 0), previous, -1), shape[1])
        return one_hot(label, shape[1]).unsqueeze(-1) * torch.cat([segment, move], -1).unsqueeze(-2)

    def decode(self, parts: Tensor, lengths: Tensor | None = None) -> Tensor:
        longest = self.max_length
        segments = parts[..., :longest].flatten(2)
        used, option = segments.max(-1)
        length = torch.where(used > 0, option % longest + 1, 0)
        label = torch.where(used > 0, option // longest, -1)
        return torch.stack([length, label], -1)

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (S, T, 2) are segmentations of the first `lengths` positions: (S,)."""
        positions = structures.shape[1]
        length, label = structures.unbind(-1)
        limit = lengths_or_full(lengths, structures)
        start = torch.zeros_like(limit)  # of the next segment
        legal = torch.ones_like(limit, dtype=torch.bool)
        for t in range(positions):
            here = (start == t) & (start < limit)
            segment = (length[:, t] >= 1) & (length[:, t] <= self.max_length)
            segment &= (label[:, t] >= 0) & (label[:, t] < shape[1])
            nothing = (length[:, t] == 0) & (label[:, t] == -1)
            legal &= torch.where(here, segment, nothing)
            start = torch.where(here, t + length[:, t].clamp(min=1), start)
        return legal & (start == limit)

    def count(self, positions: int, labels: int) -> int:
        """The number of segmentations: f(T) = K sum_{d=1}^{min(D, T)} f(T - d), f(0) = 1."""
        if positions < 1 or labels < 1:
            raise ValueError(
                f"expected at least one position and one label, got T = {positions}, K = {labels}"
            )
        counts = [1]
        for _ in range(positions):
            counts.append(labels * sum(counts[-self.max_length :]))
        return counts[-1]

    def enumerate(self, positions: int, labels: int) -> Tensor:
        """Every segmentation, (count(T, K), T, 2); at most 20,000."""
        count = self.count(positions, labels)
        check_count(count, "segmentations", f"for T = {positions}, K = {labels}")
        listed: list[list[list[tuple[int, int]]]] = [[[]]]  # by the number of positions covered
        for t in range(1, positions + 1):
            listed.append(
                [
                    [*rest, (d, k), *[(0, -1)] * (d - 1)]
                    for d in range(1, min(self.max_length, t) + 1)
                    for rest in listed[t - d]
                    for k in range(labels)
                ]
            )
        return torch.tensor(listed[positions])

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        return segmentations(scores, lengths, total, self.max_length)

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        return shift_segments(scores, lengths_or_full(lengths, scores), self.max_length)

    def chart(self, steps: Tensor, lengths: Tensor | None) -> Chart | None:
        return Chart("segment_states", lengths_or_full(lengths, steps)[:, None], (steps.shape[1],))

    def sums(self, steps: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
        return segment_sums(steps, lengths, self.max_length) or super().sums(steps, lengths)

    @property
    def native(self) -> Native:
        return Native("semi_markov", (self.max_length, int(self.penalty == "both")))
