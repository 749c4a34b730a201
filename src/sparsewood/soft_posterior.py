"""The posterior of an estimator that gives marginals of parts instead of structures."""

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

    `expect(values)` takes one value per instance. Methods that need structures (`structures`,
    `expect(fn)`, `forest`, `log_prob`, `sample`, `topk`) raise TypeError.

    Attributes:
        distribution: the distribution over all structures.
        at: the index of the only instance of this posterior; None: all instances.
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
        """Raises TypeError: there are no structures."""
        raise TypeError(
            "structures: this posterior has marginals of parts, not structures; use an estimator "
            "such as SparseMAP, or samples from marginals(...).posterior(n)"
        )

    @lazy
    def marginals(self) -> Tensor:
        """(*batch, *parts): the probability of each part; differentiable."""
        return self._of(self.distribution.marginals)

    @lazy
    def parts(self) -> Tensor:
        """(B, *parts): the marginals, one soft row per instance."""
        return self.marginals.reshape(-1, *self.shape)

    @lazy
    def mode(self) -> Tensor:
        """(*batch, *event): the MAP structure of each instance."""
        return self._of(self.distribution.mode)

    def entropy(self) -> Tensor:
        """(*batch,) Shannon entropy over all structures, in nats; differentiable."""
        return self._of(self.distribution.entropy())

    def __getitem__(self, i: int) -> "SoftPosterior":
        """The posterior of instance `i` of the flattened batch, as a batch of one."""
        i = self._number(i)
        return SoftPosterior(self.distribution, i if self.at is None else self.at)

    def __repr__(self) -> str:
        count = counted(len(self), "instance")
        return f"SoftPosterior({self.structure}, {count}, parts of shape {self.shape})"

    def _of(self, table: Tensor) -> Tensor:
        """The rows of a table (*batch, ...) for the instances of this posterior."""
        batch = self.distribution.batch_shape
        return table if self.at is None else one_of(table, batch, self.at)
