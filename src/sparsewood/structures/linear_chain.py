"""Linear chains: a sequence of states, each scored with the one before it."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood._internal.batch import given_shape
from sparsewood._internal.lengths import lengths_or_full
from sparsewood.structures._listing import check_count, sequences
from sparsewood.structures._one_hot import index_of, one_hot
from sparsewood.structures._transitions import check_ends, ends, moves_into
from sparsewood.structures.base import Native, NativeStructure
from sparsewood.structures.recursions import Shifted, Total
from sparsewood.structures.recursions.chain import best_chains, chain, shift_chain
from sparsewood.structures.recursions.chart_sums import Chart
from sparsewood.structures.recursions.segment_sums import segment_sums

_OPTIONS_MAX = 32_767  # native options are stored in 16 bits


class ChainParts(NamedTuple):
    """The parts of a chain as two tables."""

    unary: Tensor  # (*batch, T, K)
    transition: Tensor  # (*batch, T - 1, K, K): from the state at t (first K) to the state at t + 1


@dataclass(frozen=True)
class LinearChain(NativeStructure):
    """Sequences of `T` states out of `K`, for tagging, BIO segmentation and time alignment.

    The parts have shape (B, T, K, 1 + K). `scores[b, t, k, 0]` scores state `k` at position `t`;
    `scores[b, t, k, 1 + j]` scores the transition to it from state `j` at `t - 1` and is never read
    at `t = 0`. `pack` builds such scores from unary and transition tables, `unpack` is its
    inverse. A structure is its states, (T,) int64; padding holds -1.

    The MAP oracle is the algorithm of Viterbi (1967), O(T K^2).

    Args:
        penalty: which parts carry the quadratic penalty of SparseMAP: "unary" (Niculae et al.
            2018, "SparseMAP", section 5), for which the transition marginals need not be unique,
            or "both".
    """

    penalty: Literal["unary", "both"] = "unary"

    parts_ndim = 3

    def __post_init__(self) -> None:
        if self.penalty not in ("unary", "both"):
            raise ValueError(f'penalty must be "unary" or "both", got {self.penalty!r}')

    def pack(
        self,
        unary: Tensor,
        transition: Tensor | None = None,
        *,
        start: Tensor | None = None,
        end: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> Tensor:
        """Scores (*batch, T, K, 1 + K) from tables; differentiable.

        Args:
            unary: (*batch, T, K), scores of state k at position t.
            transition: [j, k] scores state j to state k: (K, K), shared by all positions, or
                (*batch, T - 1, K, K). None: zeros.
            start, end: (K,) or (*batch, K), added to the scores of the first and last position.
            lengths: (*batch,), the number of positions of each chain. None: T.
        """
        if unary.ndim < 2 or 0 in unary.shape[-2:] or not unary.is_floating_point():
            raise ValueError(
                f"unary: expected floating (*batch, T, K) with T, K >= 1, got {unary.dtype} "
                f"of shape {tuple(unary.shape)}"
            )
        batch = tuple(unary.shape[:-2])
        check_ends("unary", unary, batch, start, end)
        position = torch.arange(unary.shape[-2], device=unary.device)[:, None]
        if start is not None:
            unary = unary + torch.where(position == 0, start.unsqueeze(-2), 0)
        if end is not None:
            at_end = position == ends(lengths, unary, batch) - 1
            unary = unary + torch.where(at_end, end.unsqueeze(-2), 0)
        moves = moves_into("unary", unary, batch, transition)
        return torch.cat([unary.unsqueeze(-1), moves], -1)

    def unpack(self, parts: Tensor) -> ChainParts:
        """Split parts (*batch, T, K, 1 + K), such as marginals, into unary and transition."""
        return ChainParts(parts[..., 0], parts[..., 1:, :, 1:].transpose(-1, -2))

    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        unary = one_hot(structures, shape[1])
        before = pad(unary[:, :-1], (0, 0, 1, 0))
        moves = unary[..., None] * before[:, :, None]
        return torch.cat([unary[..., None], moves], -1)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        shape = tuple(scores.shape)
        if scores.ndim != 4 or shape[3] != shape[2] + 1 or shape[1] == 0 or shape[2] == 0:
            raise ValueError(
                f"chain scores: expected (*batch, T, K, 1 + K) with T, K >= 1, got shape "
                f"{given_shape(shape)}: "
                "build them with LinearChain.pack from unary and transition tables"
            )
        if shape[2] ** 2 > _OPTIONS_MAX:
            raise ValueError(
                f"chain scores: expected at most 181 states, got shape {given_shape(shape)}"
            )
        self.check_dtype_and_lengths("chain scores", scores, lengths)

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        _, steps, _, width = scores.shape
        position = torch.arange(steps, device=scores.device)
        real = (position[:, None] > 0) | (torch.arange(width, device=scores.device) == 0)
        inside = position < lengths_or_full(lengths, scores)[:, None]
        return (inside[..., None] & real)[:, :, None].expand_as(scores)

    def penalised(self, scores: Tensor) -> Tensor | None:
        if self.penalty == "both":
            return None
        mask = torch.zeros(scores.shape[1:], dtype=torch.bool, device=scores.device)
        mask[..., 0] = True
        return mask

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (S, T) hold a state in the first `lengths` positions and -1 after: (S,)."""
        position = torch.arange(structures.shape[1], device=structures.device)
        inside = position < lengths_or_full(lengths, structures)[:, None]
        states = (structures >= 0) & (structures < shape[1])
        return torch.where(inside, states, structures == -1).all(-1)

    def decode(self, parts: Tensor, lengths: Tensor | None = None) -> Tensor:
        return index_of(parts[..., 0])

    def count(self, steps: int, states: int) -> int:
        """states ** steps."""
        if steps < 1 or states < 1:
            raise ValueError(f"expected at least one step and one state, got {steps} and {states}")
        return states**steps

    def enumerate(self, steps: int, states: int) -> Tensor:
        """Every sequence, (states ** steps, steps) int64 in lexicographic order; at most 20,000."""
        check_count(self.count(steps, states), "chains", f"of {states} states at {steps} steps")
        return sequences(range(states), steps)

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        return chain(scores, lengths, total)

    def max_marginals(self, scores: Tensor, lengths: Tensor | None) -> Tensor:
        return best_chains(scores, lengths_or_full(lengths, scores))

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        return shift_chain(scores, lengths_or_full(lengths, scores))

    def chart(self, steps: Tensor, lengths: Tensor | None) -> Chart | None:
        return Chart("chain_states", lengths_or_full(lengths, steps)[:, None], (steps.shape[1],))

    def sums(self, steps: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
        return segment_sums(steps, lengths, 1) or super().sums(steps, lengths)

    @property
    def native(self) -> Native:
        return Native("chain", (self.penalty == "both",))

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape[:1]
