"""The posterior of SparseMAP, with its certificate of optimality."""

from dataclasses import KW_ONLY, dataclass

from torch import Tensor

from sparsewood.posterior import Posterior
from sparsewood.status import Status, tally


@dataclass(frozen=True, eq=False, repr=False)
class SparsePosterior(Posterior):
    """A `Posterior` with a certificate of optimality.

    Weights and marginals are differentiable with respect to the scores.

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

    @property
    def converged(self) -> Tensor:
        """(*batch,) bool: the gap certifies the requested accuracy; `status` is SOLVED."""
        return self.status == int(Status.SOLVED)

    def _how_it_went(self) -> str:
        gap = float(self.gap.max())
        if len(self) == 1:
            return f", gap {gap:.1e}, {Status(int(self.status))}"
        return f", gap <= {gap:.1e}, {tally(self.status)}"


def certificate_of(post: Posterior) -> SparsePosterior | None:
    """The posterior if it has a certificate, else None."""
    return post if isinstance(post, SparsePosterior) else None
