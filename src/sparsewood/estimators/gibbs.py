"""Soft parts: the marginals of the distribution over all structures."""

from dataclasses import dataclass
from typing import ClassVar

from sparsewood._internal.numbers import check_real
from sparsewood.estimators.base import Estimator, GradientThrough, Primitive, Problem
from sparsewood.inference.marginals import marginals
from sparsewood.soft_posterior import SoftPosterior


@dataclass(frozen=True, repr=False)
class Gibbs(Estimator):
    """Soft parts: the marginals of `p(h)` proportional to `exp(<scores, m(h)> / temperature)`.

    For networks that read parts instead of structures, such as attention (Kim et al. 2017,
    "Structured attention networks"). See `sparsewood.marginals`.

    Args:
        temperature: scores are divided by it; lower is sharper.
    """

    temperature: float = 1.0

    gives_structures: ClassVar[bool] = False
    gradient_through: ClassVar[GradientThrough] = "parts"

    def __post_init__(self) -> None:
        check_real("temperature", self.temperature, positive=True)

    def needs(self) -> tuple[Primitive, ...]:
        return ("sums",)

    def estimate(self, problem: Problem) -> SoftPosterior:
        scores, structure, lengths, _ = problem
        found = marginals(scores, structure, lengths=lengths, temperature=self.temperature)
        return SoftPosterior(found)
