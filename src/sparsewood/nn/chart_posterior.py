"""The distribution over binary trees defined by a chart of split weights."""

from dataclasses import dataclass

import torch
from torch import Tensor

from sparsewood._internal.lazy import lazy
from sparsewood.nn._spans import left_parts, right_parts, whole
from sparsewood.posterior import Posterior
from sparsewood.structures.binary_trees import BinaryTrees


@dataclass(frozen=True, eq=False, repr=False, init=False)
class ChartPosterior(Posterior):
    """A distribution over binary trees whose spans are split one by one, from the sentence down.

    With s_k(i, j) the weight of splitting the words i to j after word k, a tree has probability

        p(tree) = product over its spans (i, j) of several words of s_k(i, j), k its split of them

    A network that mixes the splits of every span, such as `ChartTreeLSTM`, computes one vector for
    all trees. So this posterior has one soft row of weight 1 per instance, and `expect(values)`
    takes one value per instance. Methods that need a list of trees (`structures`, `sample`, `topk`)
    raise TypeError; `likeliest()` gives one tree per instance.

    Attributes:
        splits: for each width w from 2 to n, log s as (B, w - 1, n - w + 1), indexed by the number
            of words left of the split and by the first word of the span.
    """

    splits: tuple[Tensor, ...]

    def __init__(self, splits: tuple[Tensor, ...], lengths: Tensor, words: int) -> None:
        dtype = splits[0].dtype if splits else torch.get_default_dtype()
        values = {
            "structure": BinaryTrees(),
            "weights": torch.ones(len(lengths), dtype=dtype, device=lengths.device),
            "sizes": torch.ones_like(lengths),
            "shape": (words, words),
            "lengths": lengths,
            "splits": splits,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @lazy
    def structures(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Raises TypeError: there is no list of trees."""
        raise TypeError(
            "structures: a chart has weights of splits, not a list of trees; use likeliest() for "
            "one tree per instance"
        )

    @lazy
    def mode(self) -> Tensor:
        """(B, n, n): the most likely tree of each instance, encoded as in `BinaryTrees`.

        By dynamic programming: best(i, j) = max_k log s_k(i, j) + best(i, k) + best(k + 1, j).
        """
        n = self.shape[0]
        start = torch.arange(n, device=self.sizes.device)
        table = torch.zeros(len(self), n * n, dtype=torch.int64, device=self.sizes.device)
        table.scatter_(1, self._lengths[:, None] - 1, 1)
        for width, split in reversed(list(enumerate(self._best[1], 2))):
            first = start[: n - width + 1]
            last = first + width - 1
            here = table[:, first * n + last]  # 1 if the tree has the span, and so its two parts
            table.scatter_add_(1, first * n + first + split, here)
            table.scatter_add_(1, (first + split + 1) * n + last, here)
        return table.view(-1, n, n)

    def likeliest(self) -> Posterior:
        """The most likely tree of each instance, weighted by its probability."""
        return Posterior(
            self.structure, self.mode, self._best[0].exp(), self.sizes, self.shape, self.lengths
        )

    def log_prob(self, structures: Tensor) -> Tensor:
        """The log-probability of one tree per instance: (B, n, n) -> (B,); differentiable."""
        n = self.shape[0]
        if structures.shape != (len(self), n, n):
            raise ValueError(
                f"log_prob: expected {(len(self), n, n)}, got {tuple(structures.shape)}"
            )
        has = [structures.diagonal(w, 1, 2).bool() for w in range(n)]
        total = self.weights.new_zeros(len(self))
        for width, log_s in enumerate(self.splits, 2):
            shorter = has[: width - 1]
            used = left_parts(shorter) & right_parts(shorter) & has[width - 1][:, None]
            total = total + torch.where(used, log_s, 0).sum((1, 2))
        return total

    def entropy(self) -> Tensor:
        """(B,) Shannon entropy over all trees, in nats; differentiable.

        H(i, j) = sum_k s_k(i, j) (-log s_k(i, j) + H(i, k) + H(k + 1, j))
        """
        levels = [self.weights.new_zeros(len(self), self.shape[0])]
        for log_s in self.splits:
            s = log_s.exp()
            below = left_parts(levels) + right_parts(levels)
            levels.append((torch.special.entr(s) + s * below).sum(1))
        return whole(levels, self._lengths)

    @lazy
    def _best(self) -> tuple[Tensor, list[Tensor]]:
        """The log-probability (B,) of the most likely tree, and its splits (B, spans) per width."""
        levels = [self.weights.new_zeros(len(self), self.shape[0])]
        chosen: list[Tensor] = []
        for log_s in self.splits:
            below = left_parts(levels) + right_parts(levels)
            best, split = (log_s.detach() + below).max(1)
            levels.append(best)
            chosen.append(split)
        return whole(levels, self._lengths), chosen

    @property
    def _lengths(self) -> Tensor:
        assert self.lengths is not None
        return self.lengths

    def __getitem__(self, i: int) -> "ChartPosterior":
        """The posterior of instance `i`, as a batch of one."""
        i = self._number(i)
        splits = tuple(log_s[i : i + 1] for log_s in self.splits)
        return ChartPosterior(splits, self._lengths[i : i + 1], self.shape[0])

    def __repr__(self) -> str:
        count = f"{len(self)} instance{'s' * (len(self) != 1)}"
        return f"ChartPosterior({self.structure}, {count}, parts of shape {self.shape})"

    def _repr_html_(self) -> str | None:
        return self.likeliest()._repr_html_() if len(self) == 1 else None
