"""The perturbed optimizer: MAP structures of perturbed scores."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from sparsewood._internal.numbers import check_choice, check_real, check_whole
from sparsewood.estimators import _noise
from sparsewood.estimators._baselines import mean_of_others
from sparsewood.estimators._instances import Instances
from sparsewood.estimators.base import Estimator, GradientThrough, Problem
from sparsewood.estimators.map import MAP
from sparsewood.posterior import Posterior

Noise = Literal["normal", "gumbel"]


@dataclass(frozen=True, repr=False)
class Perturbed(Estimator):
    r"""The perturbed optimizer: `K = samples` structures `h_k`, of weight 1/K each.

        h_k = MAP(theta + sigma z_k)
        gradient on theta = 1/K sum_k (a_k - mean of the other a_j) nabla nu(z_k) / sigma
        a_k = <g, m(h_k)>,                          g the gradient on the mean of the parts m(h_k)

    with noise `z_k` of density proportional to `exp(-nu(z))`: `nabla nu(z) = z` for "normal",
    `1 - exp(-z)` for "gumbel". The gradient is unbiased if the loss is linear in the mean of the
    parts. The mean of the other `a_j` is a baseline; with one sample there is no baseline, and the
    variance is high. `g` is the sum of the gradients of the parts of the K structures.

    Berthet, Blondel, Teboul, Cuturi, Vert & Bach 2020, "Learning with differentiable perturbed
    optimizers", section 3, proposition 3.1.

    Args:
        samples: number of structures, K.
        sigma: scale of the noise.
        noise: "normal" or "gumbel", independent for each part.
    """

    samples: int = 8
    sigma: float = 1.0
    noise: Noise = "normal"

    gradient_through: ClassVar[GradientThrough] = "parts"
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("samples", self.samples)
        check_real("sigma", self.sigma, positive=True)
        check_choice("noise", self.noise, Noise)

    def at_test(self) -> Estimator:
        return MAP()

    def estimate(self, problem: Problem) -> Posterior:
        instances = Instances.of(problem, copies=self.samples)
        theta, k = instances.theta, self.samples
        draw = _noise.normal if self.noise == "normal" else _noise.gumbel
        z = draw(theta, problem.generator)
        structures = instances.best(theta + self.sigma * z)

        def rule(g: Tensor) -> Tensor:
            whole = instances.rows(g.unflatten(0, (-1, k)).sum(1))
            gains = (whole * instances.parts(structures)).flatten(1).sum(-1).unflatten(0, (-1, k))
            gains = gains - mean_of_others(gains)
            slope = z if self.noise == "normal" else 1 - (-z).exp()
            return gains.view(-1, *[1] * (z.ndim - 1)) * slope / (k * self.sigma)

        return instances.with_rule(structures, rule)
