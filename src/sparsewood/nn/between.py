"""An arc scorer that sees what lies between the two words of an arc."""

from typing import Any

import torch
from torch import Tensor, nn

from sparsewood._internal.batch import Batch
from sparsewood.nn._between_pairs import PairsBetween
from sparsewood.nn.scorers import _ArcScorer


class BetweenArcScorer(_ArcScorer):
    """One hidden layer over each pair of words and what lies between them:

        g_t = tanh(W x_t), in `channels` channels
        score(h, d) = v^T tanh(W_h x_h + W_d x_d + b + W_dir tanh([sum, least, greatest]) + e)

    `sum` adds the steps g_t of the words strictly between the two, per channel; `least` and
    `greatest` are the extremes of its prefix sums from the left word on, the empty one (0)
    included. The matrix W_dir depends on the side of the dependent the head is on, the vector e on
    that side and on whether the two words are neighbours. The root stands left of the first word.

    A parser with features of the words in between: McDonald, Crammer & Pereira (2005, "Online
    large-margin training of dependency parsers", table 1c) have their parts of speech; these are
    learned. A channel whose steps are +1 at an opening and -1 at a closing bracket counts how
    deep the words are nested, and its extremes tell which brackets match.

    With `rounding` r in [0, 1] a step is (1 - r) g + r round(g), with the gradient of g
    (straight-through). At 1 sums are whole numbers, so that nothing drifts however long the
    sentence is; raise it from 0 during training. It is saved with the parameters.

    Nothing of size n^2 hidden_size is held between the passes, as in `MLPArcScorer`. Numbers that
    are not finite spread to the scores of arcs that begin, end or pass there, and to no gradient:
    padding may be anything. Differentiable once.

    Args:
        input_size: d, the size of a word vector.
        hidden_size: of the hidden layer.
        channels: sums that are kept.
    """

    def __init__(self, input_size: int, hidden_size: int = 100, channels: int = 4) -> None:
        super().__init__(input_size)
        self.head = nn.Linear(input_size, hidden_size, bias=False)
        self.dependent = nn.Linear(input_size, hidden_size)
        self.step = nn.Linear(input_size, channels, bias=False)
        # The first index of both: heads left of the dependent, heads right of it.
        self.between = nn.Parameter(torch.empty(2, hidden_size, 3 * channels))
        self.place = nn.Parameter(torch.empty(2, 2, hidden_size))  # the second: neighbours, others
        for parameter in (self.between, self.place):
            nn.init.uniform_(parameter, -((3 * channels) ** -0.5), (3 * channels) ** -0.5)
        self.score = nn.Linear(hidden_size, 1, bias=False)
        self._rounding: Tensor
        self.register_buffer("_rounding", torch.zeros(()))

    @property
    def rounding(self) -> float:
        """How far steps are rounded to whole numbers, from 0 to 1."""
        return float(self._rounding)

    @rounding.setter
    def rounding(self, value: float) -> None:
        if not 0 <= value <= 1:
            raise ValueError(f"rounding: expected a number from 0 to 1, got {value!r}")
        self._rounding.fill_(value)

    def forward(self, x: Tensor) -> Tensor:
        """(*batch, n, d) -> (*batch, n, n + 1)."""
        vectors = self._heads(x)
        batch = Batch(x.shape[:-2])
        vectors = batch.flatten("word vectors", vectors)
        finite = vectors.isfinite()
        vectors = torch.where(finite, vectors, 0)
        words = vectors[:, 1:]
        heads, dependents = self.head(vectors), self.dependent(words)
        table = torch.cat([self.between.mT.flatten(0, 1), self.place.flatten(0, 1)])
        pairs: Any = PairsBetween.apply(
            heads,
            dependents,
            _prefix_sums(self._steps(words)),
            table.to(heads.dtype),
            self.score.weight[0].to(heads.dtype),
        )
        return batch.restore(pairs.masked_fill(_spoilt(finite.all(-1)), torch.nan))

    def _steps(self, words: Tensor) -> Tensor:
        """(B, n, d) -> (B, n, channels)."""
        g = torch.tanh(self.step(words))
        return g + (self._rounding.to(g.dtype) * (g.round() - g)).detach()

    def extra_repr(self) -> str:
        channels = self.step.out_features
        return f"{self.input_size}, {channels} channels, rounding {self.rounding:g}"


def _prefix_sums(steps: Tensor) -> Tensor:
    """(B, n, channels) -> (B, n + 1, channels), of no step first.

    In double sums of float32 steps are exact (but for steps below 1e-5): words that cancel give
    equal sums, of which all backends choose the same.
    """
    return nn.functional.pad(steps.double().cumsum(1), (0, 0, 1, 0))


def _spoilt(finite: Tensor) -> Tensor:
    """Arcs with a vector that is not finite at or between their ends: (B, n + 1) -> (B, n, n + 1).

    The root is the first of the vectors.
    """
    bad = ~finite
    count = bad.cumsum(1)  # the same at both ends: none is bad but perhaps the left one
    ends = bad[:, 1:, None] | bad[:, None]
    return ends | (count[:, 1:, None] != count[:, None])
