"""The MAP structure, without gradient."""

from dataclasses import dataclass
from typing import ClassVar

from sparsewood.estimators._instances import Instances
from sparsewood.estimators.base import Estimator, GradientThrough, Problem
from sparsewood.posterior import Posterior


@dataclass(frozen=True, repr=False)
class MAP(Estimator):
    """The highest scoring structure with weight 1; no gradient. See `sparsewood.map`.

    It replaces random estimators in evaluation.
    """

    gradient_through: ClassVar[GradientThrough] = "none"

    def estimate(self, problem: Problem) -> Posterior:
        instances = Instances.of(problem)
        return instances.posterior(instances.best(instances.theta))
