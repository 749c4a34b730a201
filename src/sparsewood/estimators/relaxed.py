"""Soft parts: the marginals of perturbed scores."""

from dataclasses import dataclass
from typing import ClassVar

from sparsewood._internal.numbers import check_real
from sparsewood.estimators import _noise
from sparsewood.estimators.base import Estimator, GradientThrough, Primitive, Problem
from sparsewood.estimators.map import MAP
from sparsewood.inference._check import check_scores
from sparsewood.inference.marginals import marginals
from sparsewood.soft_posterior import SoftPosterior


@dataclass(frozen=True, repr=False)
class Relaxed(Estimator):
    """Soft parts, `mu((theta + G) / temperature)`: a stochastic softmax trick.

    `G` is Gumbel noise for each part, `mu` the marginals of the Gibbs distribution: the argmax of
    perturbed scores, relaxed by entropy. Low temperatures give nearly discrete structures, i.e.
    perturb-and-MAP samples. The gradient is exact for the noise that was drawn. Paulus, Choi,
    Tarlow, Krause & Maddison 2020, "Gradient estimation with stochastic softmax tricks", section 4,
    with exponential family entropy. In evaluation, `MAP` replaces this estimator.

    Args:
        temperature: perturbed scores are divided by it; lower is sharper.
        gumbel: whether to add noise. Without noise the result equals that of `Gibbs`.
    """

    temperature: float = 1.0
    gumbel: bool = True

    gives_structures: ClassVar[bool] = False
    gradient_through: ClassVar[GradientThrough] = "parts"
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_real("temperature", self.temperature, positive=True)
        if not isinstance(self.gumbel, bool):
            raise ValueError(f"gumbel: expected True or False, got {self.gumbel!r}")

    def needs(self) -> tuple[Primitive, ...]:
        return ("sums",)

    def at_test(self) -> Estimator:
        return MAP()

    def estimate(self, problem: Problem) -> SoftPosterior:
        scores, structure, lengths, generator = problem
        check_scores(scores)
        if self.gumbel:
            scores = (scores.double() + _noise.gumbel(scores, generator)).to(scores.dtype)
        found = marginals(scores, structure, lengths=lengths, temperature=self.temperature)
        return SoftPosterior(found)
