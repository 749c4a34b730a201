"""An arc scorer with features of the words between the two ends of an arc."""

import torch
from torch import Tensor, nn

from sparsewood._internal.batch import BatchShape
from sparsewood.nn._between_pairs import score_pairs_between
from sparsewood.nn.scorers import _ArcScorer


class BetweenArcScorer(_ArcScorer):
    """One hidden layer over each pair of words and features of the words between them:

        g_t = tanh(W x_t), in `channels` channels
        score(h, d) = v^T tanh(W_h x_h + W_d x_d + b + W_dir tanh([sum, least, greatest]) + e)

    `sum` adds the steps g_t of the words strictly between the two, per channel; `least` and
    `greatest` are the minimum and maximum of its prefix sums from the left word on, including the
    empty sum (0). The matrix W_dir depends on whether the head is left or right of the dependent,
    the vector e also on whether the two words are adjacent. The root is left of the first word.

    McDonald, Crammer & Pereira (2005, "Online large-margin training of dependency parsers", table
    1c) use the parts of speech of the words in between; here the features are learned. A channel
    with step +1 at an opening and -1 at a closing bracket counts the nesting depth, and its minimum
    and maximum determine which brackets match.

    With `rounding` r in [0, 1] a step is (1 - r) g + r round(g), with the gradient of g
    (straight-through). At r = 1 sums are integers, so errors do not accumulate in long sentences;
    raise r from 0 during training. It is saved with the parameters.

    As in `MLPArcScorer`, nothing of size n^2 hidden_size is saved for the backward pass. Values
    that are not finite affect the scores of arcs that begin, end or pass there, but no gradient, so
    padding may hold any value. Differentiable once.

    Args:
        input_size: d, the size of a word vector.
        hidden_size: size of the hidden layer.
        channels: number of channels.
    """

    def __init__(self, input_size: int, hidden_size: int = 100, channels: int = 4) -> None:
        super().__init__(input_size)
        self.head = nn.Linear(input_size, hidden_size, bias=False)
        self.dependent = nn.Linear(input_size, hidden_size)
        self.step = nn.Linear(input_size, channels, bias=False)
        # The first index: head left of the dependent, head right of it.
        self.between = nn.Parameter(torch.empty(2, hidden_size, 3 * channels))
        self.place = nn.Parameter(torch.empty(2, 2, hidden_size))  # second: adjacent, not adjacent
        nn.init.normal_(self.between, std=(3 * channels) ** -0.5)
        nn.init.normal_(self.place, std=0.1)  # at first, distance matters less than words
        self.score = nn.Linear(hidden_size, 1, bias=False)
        self._rounding: Tensor
        self.register_buffer("_rounding", torch.zeros(()))

    @property
    def rounding(self) -> float:
        """Degree to which steps are rounded to integers, from 0 to 1."""
        return float(self._rounding)

    @rounding.setter
    def rounding(self, value: float) -> None:
        if not 0 <= value <= 1:
            raise ValueError(f"rounding: expected a number from 0 to 1, got {value!r}")
        self._rounding.fill_(value)

    def forward(self, x: Tensor) -> Tensor:
        """(*batch, n, d) -> (*batch, n, n + 1)."""
        batch = BatchShape(x.shape[:-2])
        vectors, spoilt = _finite(batch.flatten("word vectors", self._heads(x)))
        words = batch.flatten("word vectors", x) if spoilt is None else vectors[:, 1:]
        heads, dependents = self.head(vectors), self.dependent(words)
        table = torch.cat([self.between.mT.flatten(0, 1), self.place.flatten(0, 1)])
        scores = score_pairs_between(
            heads,
            dependents,
            _prefix_sums(self._round(torch.tanh(self.step(words)))),
            table.to(heads.dtype),
            self.score.weight[0].to(heads.dtype),
        )
        return batch.restore(scores if spoilt is None else scores.masked_fill(spoilt, torch.nan))

    def _round(self, g: Tensor) -> Tensor:
        return g + (self._rounding.to(g.dtype) * (g.round() - g)).detach()

    def extra_repr(self) -> str:
        channels = self.step.out_features
        return f"{self.input_size}, {channels} channels, rounding {self.rounding:g}"


def _prefix_sums(steps: Tensor) -> Tensor:
    """(B, n, channels) -> (B, n + 1, channels), the empty sum first.

    In double precision, sums of float32 steps are exact (except for steps below 1e-5). Words that
    cancel then give equal sums, so that all backends break ties the same way.
    """
    return nn.functional.pad(steps.double().cumsum(1), (0, 0, 1, 0))


def _finite(vectors: Tensor) -> tuple[Tensor, Tensor | None]:
    """Vectors (B, n + 1, d) with zeros for values that are not finite, and a mask (B, n, n + 1).

    The mask has the arcs with such a vector at or between their ends; the first vector is the root.
    It is None if all values are finite. On a GPU that is not checked, because it would synchronize.
    """
    on_cpu = vectors.device.type == "cpu" and not torch.compiler.is_compiling()
    if on_cpu and vectors.detach().sum().isfinite():
        return vectors, None
    finite = vectors.isfinite()
    bad = ~finite.all(-1)
    count = bad.cumsum(1)  # equal at both ends: all finite, except perhaps the left one
    ends = bad[:, 1:, None] | bad[:, None]
    spoilt = ends | (count[:, 1:, None] != count[:, None])
    return torch.where(finite, vectors, 0), spoilt
