"""Straight-through gradients of the MAP structure."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from sparsewood._internal.numbers import check_choice
from sparsewood.estimators._carried import carried
from sparsewood.estimators._instances import Instances
from sparsewood.estimators.base import Estimator, GradientThrough, Primitive, Problem
from sparsewood.inference.marginals import marginals
from sparsewood.posterior import Posterior

Backward = Literal["identity", "marginals"]


@dataclass(frozen=True, repr=False)
class StraightThrough(Estimator):
    """The MAP structure `h`. A gradient `g` of its parts `m(h)` gives the gradient of the scores:

        identity     g
        marginals    J^T g,      J = d mu / d theta,    mu the marginals of the Gibbs distribution

    Bengio, Leonard & Courville 2013, "Estimating or propagating gradients through stochastic
    neurons for conditional computation", section 3; for structures, Peng, Thomson & Smith 2018,
    "Backpropagating through structured argmax using a SPIGOT", section 2. With "marginals" it is
    the deterministic form of straight-through Gumbel-softmax (Jang, Gu & Poole 2017, section 2.2).

    Args:
        backward: the surrogate for the derivative of the parts, "identity" or "marginals".
    """

    backward: Backward = "identity"

    gradient_through: ClassVar[GradientThrough] = "parts"

    def __post_init__(self) -> None:
        check_choice("backward", self.backward, Backward)

    def needs(self) -> tuple[Primitive, ...]:
        return ("sums",) if self.backward == "marginals" else ()

    def estimate(self, problem: Problem) -> Posterior:
        instances = Instances.of(problem)
        structures = instances.best(instances.theta)
        if self.backward == "identity" or not instances.learns:
            return instances.with_rule(structures, None)
        soft = marginals(instances.given, instances.structure, lengths=instances.lengths).marginals
        parts = carried(instances.parts(structures), soft)
        return instances.posterior(structures).with_parts(parts)
