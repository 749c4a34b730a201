"""The best structure, and the slope of a line between it and that of other scores."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sparsewood._internal.numbers import check_real
from sparsewood.estimators._instances import Instances
from sparsewood.estimators.base import Estimator, GradientThrough, Problem
from sparsewood.posterior import Posterior


@dataclass(frozen=True, repr=False)
class Blackbox(Estimator):
    """The MAP structure; a gradient `g` on its parts becomes one on the scores theta:

        [MAP(theta) - MAP(theta - lambda_ g)] / lambda_

    with MAP for the parts of the best structure: the gradient of a continuous interpolation of the
    piecewise constant loss. Vlastelica, Paulus, Musil, Martius & Rolinek 2020, "Differentiation of
    blackbox combinatorial solvers", Algorithm 1; the paper minimises a cost, `-theta`, so that both
    signs are the other way round there.

    Args:
        lambda_: how far the interpolation reaches. Smaller is truer to the loss, with more
            gradients that are zero.
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
