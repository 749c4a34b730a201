"""The posterior of an estimator that keeps the marginals of parts and no structures."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from sparsewood._internal.lazy import lazy
from sparsewood._internal.numbers import counted
from sparsewood.distribution import StructureDistribution
from sparsewood.posterior import Posterior, one_of


@dataclass(frozen=True, eq=False, repr=False, init=False)
class SoftPosterior(Posterior):
    """One soft row per instance: `parts` (B, *parts) are the marginals, the weights are 1.

    `expect(values)` takes a value for each instance. What needs whole structures (`structures`,
    `expect(fn)`, `forest`, `log_prob`, `sample`, `topk`) is a TypeError.

    Attributes:
        distribution: the one over all structures that the marginals are of.
        at: the instance of it that this is about; None: all.
    """

    distribution: StructureDistribution
    at: int | None

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        # Without this, torch.compile of PyTorch 2.10 and 2.11 passes the fields of a frozen
        # dataclass to its constructor.
        return object.__new__(cls)

    def __init__(self, distribution: StructureDistribution, at: int | None = None) -> None:
        scores, batch = distribution.scores, distribution.batch_shape
        whole = torch.ones(batch, dtype=torch.int64, device=scores.device)
        sizes, lengths = whole, distribution.lengths
        if at is not None:
            sizes = one_of(whole, batch, at)
            lengths = None if lengths is None else one_of(lengths, batch, at)
        values = {
            "structure": distribution.structure,
            "weights": torch.ones(sizes.numel(), dtype=scores.dtype, device=scores.device),
            "sizes": sizes,
            "shape": tuple(scores.shape[len(batch) :]),
            "lengths": lengths,
            "distribution": distribution,
            "at": at,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def carries_parts(self) -> bool:
        return True

    @lazy
    def structures(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """TypeError: there are none."""
        raise TypeError(
            "structures: this posterior keeps the marginals of parts and no structures; take an "
            "estimator such as SparseMAP, or samples by marginals(...).posterior(n)"
        )

    @lazy
    def marginals(self) -> Tensor:
        """(*batch, *parts): the probability of each part; differentiable."""
        return self._of(self.distribution.marginals)

    @lazy
    def parts(self) -> Tensor:
        """(B, *parts): the marginals, one soft row for each instance."""
        return self.marginals.reshape(-1, *self.shape)

    @lazy
    def mode(self) -> Tensor:
        """(*batch, *event): the MAP structure of each instance."""
        return self._of(self.distribution.mode)

    def entropy(self) -> Tensor:
        """(*batch,) the Shannon entropy over all structures, in nats; differentiable."""
        return self._of(self.distribution.entropy())

    def __getitem__(self, i: int) -> "SoftPosterior":
        """The posterior of instance `i` of the flattened batch, as a batch of one."""
        i = self._number(i)
        return SoftPosterior(self.distribution, i if self.at is None else self.at)

    def __repr__(self) -> str:
        count = counted(len(self), "instance")
        return f"SoftPosterior({self.structure}, {count}, parts of shape {self.shape})"

    def _of(self, table: Tensor) -> Tensor:
        """The rows of a table (*batch, ...) of the distribution that this is about."""
        batch = self.distribution.batch_shape
        return table if self.at is None else one_of(table, batch, self.at)
