"""Blackbox differentiation of the MAP structure."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sparsewood._internal.numbers import check_real
from sparsewood.estimators._instances import Instances
from sparsewood.estimators.base import Estimator, GradientThrough, Problem
from sparsewood.posterior import Posterior


@dataclass(frozen=True, repr=False)
class Blackbox(Estimator):
    """The MAP structure. A gradient `g` of its parts gives the gradient of the scores theta

        [MAP(theta) - MAP(theta - lambda_ g)] / lambda_

    where MAP denotes the parts of the best structure. This is the gradient of a continuous
    interpolation of the piecewise constant loss. Vlastelica, Paulus, Musil, Martius & Rolinek 2020,
    "Differentiation of blackbox combinatorial solvers", Algorithm 1; the paper minimises a cost,
    `-theta`, so both signs are reversed there.

    Args:
        lambda_: range of the interpolation. Smaller values are closer to the loss, but more
            gradients are zero.
    """

    lambda_: float = 10.0

    gradient_through: ClassVar[GradientThrough] = "parts"

    def __post_init__(self) -> None:
        check_real("lambda_", self.lambda_, positive=True)

    def estimate(self, problem: Problem) -> Posterior:
        instances = Instances.of(problem)
        theta = instances.theta
        structures = instances.best(theta)

        def rule(g: Tensor) -> Tensor:
            target = instances.best_parts(theta - self.lambda_ * g)
            return (instances.parts(structures) - target) / self.lambda_

        return instances.with_rule(structures, rule)
