"""The posterior of SparseMAP: it says how far from the optimum it may be, and why."""

from dataclasses import KW_ONLY, dataclass

from torch import Tensor

from sparsewood.posterior import Posterior
from sparsewood.status import Status, tally


@dataclass(frozen=True, eq=False, repr=False)
class SparsePosterior(Posterior):
    """A `Posterior` that carries its certificate.

    Weights and marginals are differentiable with respect to the scores.

    Attributes:
        gap: (*batch,) float64, the duality gap: the objective is within `gap` of its optimum.
        status: (*batch,) int64, how each solve ended: the codes of `Status`.
        calls: (*batch,) int64, how often the MAP oracle was asked.
        canonical: (*batch,) bool, whether the weights are the canonical ones, which are a
            continuous function of the scores; False where the solver chose them.
        temperature: (*batch,) float64, the temperature that this is the answer for.
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
    """The posterior if it has a certificate; None where there was nothing to solve for."""
    return post if isinstance(post, SparsePosterior) else None
