"""The posterior of SparseMAP, with its certificate of optimality."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from torch import Tensor

from sparsewood._internal.lazy import lazy
from sparsewood._internal.part_lists import PartLists
from sparsewood.posterior import Posterior
from sparsewood.status import Status, tally


@dataclass(frozen=True, eq=False, repr=False)
class SparsePosterior(Posterior):
    """A `Posterior` with a certificate of optimality.

    Weights and marginals are differentiable with respect to the scores.

    Sets and alignments are stored as lists of parts: `structures` makes their tables when it is
    first read, which may take far more memory than the solve. Marginals need no tables; `mode`,
    `topk` and `sample` make only those that they return.

    Attributes:
        gap: (*batch,) float64, the duality gap: the objective is within `gap` of its optimum.
        status: (*batch,) int64, how each solve ended: the codes of `Status`.
        calls: (*batch,) int64, number of calls of the MAP oracle.
        canonical: (*batch,) bool, whether the weights are canonical, i.e. a continuous function of
            the scores; False if the solver chose them.
        temperature: (*batch,) float64, the temperature of the solution.
    """

    _per_instance = (*Posterior._per_instance, "gap", "status", "calls", "canonical", "temperature")

    _: KW_ONLY
    gap: Tensor
    status: Tensor
    calls: Tensor
    canonical: Tensor
    temperature: Tensor
    _listed: PartLists | None = None  # the structures; `structures` is then computed from it

    def __post_init__(self) -> None:
        if self._listed is not None:
            del self.__dict__["structures"]  # so that the method is found

    @lazy
    def structures(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """(T, *event) int64, the support."""
        assert self._listed is not None
        return self._listed.tables()

    @property
    def converged(self) -> Tensor:
        """(*batch,) bool: the gap certifies the requested accuracy; `status` is SOLVED."""
        return self.status == int(Status.SOLVED)

    def _some(self, index: Tensor) -> Tensor:
        return super()._some(index) if self._listed is None else self._listed[index].tables()

    def _indicator(self) -> Tensor:
        if self._listed is None:
            return super()._indicator()
        return self._listed.tables(self.weights.dtype)

    def _between(self, start: int, stop: int) -> dict[str, Any]:
        if self._listed is None:
            return super()._between(start, stop)
        listed = self._listed[start:stop]
        found = {"structures": listed.used, "weights": self.weights[start:stop], "_listed": listed}
        return found if self._parts is None else found | {"_parts": self._parts[start:stop]}

    def _how_it_went(self) -> str:
        gap = float(self.gap.max())
        if len(self) == 1:
            return f", gap {gap:.1e}, {Status(int(self.status))}"
        return f", gap <= {gap:.1e}, {tally(self.status)}"


def certificate_of(post: Posterior) -> SparsePosterior | None:
    """The posterior if it has a certificate, else None."""
    return post if isinstance(post, SparsePosterior) else None
