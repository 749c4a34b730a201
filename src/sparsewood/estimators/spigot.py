"""SPIGOT and its variants: surrogate gradients of the MAP structure."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from sparsewood._internal.numbers import check_choice, check_real
from sparsewood.estimators._instances import Instances
from sparsewood.estimators.base import Estimator, GradientThrough, Primitive, Problem
from sparsewood.inference.marginals import marginals
from sparsewood.inference.sparsemap import sparsemap
from sparsewood.posterior import Posterior
from sparsewood.structures.base import Structure

Backward = Literal["projection", "ce", "eg"]


@dataclass(frozen=True, repr=False)
class Spigot(Estimator):
    """The MAP structure `h`. A gradient `g` of its parts `m(h)` gives the gradient of the scores:

        projection    m(h) - P(m(h) - eta g)            SPIGOT
        ce            mu(theta) - P(mu(theta) - eta g)      SPIGOT-CE
        eg            mu(theta) - mu(theta - eta g)         SPIGOT-EG

    where `P` is the Euclidean projection onto the convex hull of the parts of all structures
    without forbidden parts, and `mu` are the marginals of the Gibbs distribution at the scores
    theta. `P` is SparseMAP with a penalty on all parts, including transitions of chains and
    segmentations that the family does not penalise (then the slower generic solver is used).

    Peng, Thomson & Smith 2018, "Backpropagating through structured argmax using a SPIGOT", section
    3; "ce" and "eg": Mihaylova, Niculae & Martins 2020, "Understanding the mechanics of SPIGOT:
    surrogate gradients for latent structure learning", section 4. A projected or exponentiated
    gradient step yields target parts with a lower loss; the result is the gradient of the
    perceptron loss ("projection") or of the cross-entropy with respect to this target. For "ce" and
    "eg" the paper evaluates `g` at `mu(theta)`; here it is the gradient at `m(h)`, the only input
    that the network was run on.

    Args:
        eta: step size.
        backward: "projection", "ce" or "eg". The last two need a sum over all structures.
    """

    eta: float = 1.0
    backward: Backward = "projection"

    gradient_through: ClassVar[GradientThrough] = "parts"

    def __post_init__(self) -> None:
        check_real("eta", self.eta, positive=True)
        check_choice("backward", self.backward, Backward)

    def needs(self) -> tuple[Primitive, ...]:
        return () if self.backward == "projection" else ("sums",)

    def estimate(self, problem: Problem) -> Posterior:
        instances = Instances.of(problem)
        theta = instances.theta
        structures = instances.best(theta)

        def rule(g: Tensor) -> Tensor:
            step = self.eta * g
            if self.backward == "projection":
                here = instances.parts(structures)
                return here - _project(here - step, instances)
            here = _soft(theta, instances)
            if self.backward == "ce":
                return here - _project(here - step, instances)
            return here - _soft(theta - step, instances)

        return instances.with_rule(structures, rule)


def _soft(theta: Tensor, instances: Instances) -> Tensor:
    """The marginals of scores (B, *parts)."""
    return marginals(theta, instances.structure, lengths=instances.lengths).marginals


def _project(points: Tensor, instances: Instances) -> Tensor:
    """The nearest point of the polytope for each of (B, *parts)."""
    structure = instances.structure
    if structure.penalised(points) is not None:
        structure = _AllPenalised(structure)
    scores = instances.only_allowed(points, -torch.inf)
    return sparsemap(scores, structure, lengths=instances.lengths).marginals


class _AllPenalised(Structure):
    """A family with the SparseMAP penalty on all parts."""

    def __init__(self, family: Structure) -> None:
        self.family = family
        self.parts_ndim, self.binary = family.parts_ndim, family.binary

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        return self.family.argmax(scores, lengths)

    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        return self.family.indicator(structures, shape)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        self.family.validate(scores, lengths)

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        return self.family.reads(scores, lengths)

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        return self.family.event_shape(shape)
