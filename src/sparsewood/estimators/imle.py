"""Implicit maximum likelihood estimation."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor

from sparsewood._internal.numbers import check_choice, check_real, check_whole
from sparsewood._internal.transforms import is_transformed
from sparsewood.estimators import _noise
from sparsewood.estimators._instances import Instances
from sparsewood.estimators.base import Estimator, GradientThrough, Problem
from sparsewood.estimators.map import MAP
from sparsewood.posterior import Posterior

Noise = Literal["sum-of-gamma", "gumbel", "normal"]


@dataclass(frozen=True, repr=False)
class IMLE(Estimator):
    r"""Implicit maximum likelihood: `K = samples` structures `h_k`, of weight 1/K each.

        h_k = MAP(theta + tau e_k)
        gradient on theta = 1/K sum_k [m(h_k) - MAP(theta + tau e_k - lambda_ g_k)]

    with noise `e_k` and the parts `m(h)` of structures; MAP denotes the best structure in the first
    line and its parts in the second. `g_k` is the gradient of the loss of `h_k` with respect to its
    parts. The factor 1/K that it has in the expectation of losses is removed, so the meaning of
    `lambda_` does not depend on `samples`. Other factors stay: if the loss is a mean over a batch,
    use a larger `lambda_`. The gradient is not linear in `g`.

    Niepert, Minervini & Franceschi 2021, "Implicit MLE: backpropagating through discrete
    exponential family distributions", Algorithm 1. With "sum-of-gamma" (section 3.3), the noise of
    the `k` parts of a structure sums to a Gumbel variable. Here `k` is the number of parts of the
    MAP structure of theta, which takes one more oracle call per instance.

    Args:
        lambda_: step size towards the target, against the gradient.
        tau: scale of the noise; 0 for none.
        noise: "sum-of-gamma", "gumbel" or "normal", independent for each part.
        samples: number of structures, K.
    """

    lambda_: float = 10.0
    tau: float = 1.0
    noise: Noise = "sum-of-gamma"
    samples: int = 1

    gradient_through: ClassVar[GradientThrough] = "parts"
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_real("lambda_", self.lambda_, positive=True)
        check_perturbation(self.tau, self.noise, self.samples)

    def at_test(self) -> Estimator:
        return MAP()

    def estimate(self, problem: Problem) -> Posterior:
        instances = Instances.of(problem, copies=self.samples)
        theta = perturbed(instances, self.tau, self.noise, problem)
        structures = instances.best(theta)

        def rule(g: Tensor) -> Tensor:
            target = instances.best_parts(theta - self.lambda_ * self.samples * g)
            return (instances.parts(structures) - target) / self.samples

        return instances.with_rule(structures, rule)


def check_perturbation(tau: float, noise: str, samples: int) -> None:
    """Check the options of perturbation."""
    check_real("tau", tau)
    check_choice("noise", noise, Noise)
    check_whole("samples", samples)


def perturbed(instances: Instances, tau: float, noise: Noise, problem: Problem) -> Tensor:
    """(T, *parts) float64, the scores with independent noise in each row."""
    theta, generator = instances.theta, problem.generator
    if noise == "normal":
        return theta + tau * _noise.normal(theta, generator)
    if noise == "gumbel":
        return theta + tau * _noise.gumbel(theta, generator)
    once = replace(instances, copies=1)
    k = (once.best_parts(once.theta) != 0).flatten(1).sum(-1).clamp(min=1)
    # Elsewhere the number of values has to be known beforehand.
    counts = theta.device.type == "cpu" and not torch.compiler.is_compiling()
    where = instances.rows(instances.allowed) if counts and not is_transformed(theta) else None
    return theta + tau * _noise.sum_of_gamma(theta, instances.rows(k), generator, where)
