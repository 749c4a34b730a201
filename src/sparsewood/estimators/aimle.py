"""Implicit maximum likelihood with an adaptive step size."""

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from sparsewood._internal.numbers import check_real
from sparsewood._internal.transforms import on_values
from sparsewood.estimators._instances import Instances
from sparsewood.estimators.base import Estimator, GradientThrough, Problem
from sparsewood.estimators.imle import Noise, check_perturbation, perturbed
from sparsewood.estimators.map import MAP
from sparsewood.posterior import Posterior


class StepSize(nn.Module):
    """The adaptive state of an `AIMLE`, as buffers.

    Attributes:
        moved: difference between the current and the initial alpha.
        nonzeros: running mean of the number of parts with nonzero gradient per structure.
    """

    moved: Tensor
    nonzeros: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("moved", torch.zeros((), dtype=torch.float64))
        self.register_buffer("nonzeros", torch.ones((), dtype=torch.float64))


@dataclass(frozen=True, repr=False)
class AIMLE(Estimator):
    r"""`IMLE` with an adaptive step: `K = samples` structures `h_k`, of weight 1/K each.

        h_k = MAP(theta + tau e_k),        lambda_k = alpha ||theta|| / ||g_k||
        gradient on theta = sum_k [m(h_k) - MAP(theta + tau e_k - lambda_k g_k)] / lambda_k
        symmetric:  sum_k [MAP(theta + tau e_k + lambda_k g_k)
                           - MAP(theta + tau e_k - lambda_k g_k)] / (2 lambda_k)

    with noise `e_k` and the parts `m(h)` of structures; MAP denotes the best structure in the first
    line and its parts in the others. `g_k` is the gradient of the parts of `h_k`, including the
    factor 1/K from its weight. The norm of theta is over parts that are not forbidden; if all are
    0, there is no gradient. After each backward pass `alpha` increases by `step` if the running
    mean of the number of parts with nonzero gradient per structure is below `target`, and decreases
    by `step` otherwise. Each backward pass uses the `alpha` of its forward pass.

    Minervini, Franceschi & Niepert 2023, "Adaptive perturbation-based gradient estimation for
    discrete latent variable models", the section on AIMLE. The norms are computed per structure, so
    instances depend on others in their batch only through `alpha`.

    Args:
        alpha: the initial relative step.
        target: the desired number of parts with nonzero gradient.
        step: the change of alpha per backward pass.
        decay: decay of the running mean.
        tau: scale of the noise; 0 for none.
        noise: "sum-of-gamma", "gumbel" or "normal", as for `IMLE`.
        samples: number of structures, K.
        symmetric: use the central difference, which takes one more oracle call.
        memory: the adaptive state. `dataclasses.replace` shares it; equality, names and JSON ignore
            it. Register it as a submodule of a model to save it.
    """

    alpha: float = 1.0
    target: float = 1.0
    step: float = 1e-3
    decay: float = 0.9
    tau: float = 1.0
    noise: Noise = "sum-of-gamma"
    samples: int = 1
    symmetric: bool = False
    memory: StepSize = field(default_factory=StepSize, compare=False, repr=False)

    gradient_through: ClassVar[GradientThrough] = "parts"
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("alpha", "target", "step", "decay"):
            check_real(name, getattr(self, name))
        if self.decay >= 1:
            raise ValueError(f"decay must be less than 1, got {self.decay}")
        check_perturbation(self.tau, self.noise, self.samples)
        if not isinstance(self.symmetric, bool):
            raise ValueError(f"symmetric: expected True or False, got {self.symmetric!r}")

    def at_test(self) -> Estimator:
        return MAP()

    def estimate(self, problem: Problem) -> Posterior:
        instances = Instances.of(problem, copies=self.samples)
        theta = perturbed(instances, self.tau, self.noise, problem)
        structures = instances.best(theta)
        size = _norms(instances.only_allowed(instances.theta))
        reach = (self.alpha + self.memory.moved).to(size) * size  # ||lambda_k g_k||

        def rule(g: Tensor) -> Tensor:
            norm = _norms(g)
            step = reach * g / torch.where(norm > 0, norm, 1)
            right = instances.best_parts(theta - step)
            if self.symmetric:
                change = (instances.best_parts(theta + step) - right) / 2
            else:
                change = instances.parts(structures) - right
            on_values(self._learn, change)
            return change * norm / torch.where(reach > 0, reach, 1)

        return instances.with_rule(structures, rule)

    def _learn(self, change: Tensor) -> Tensor:
        """Update alpha from the gradients (T, *parts) of a batch, up to constant factors."""
        moved, nonzeros = self.memory.moved, self.memory.nonzeros
        if len(change) == 0:
            return moved.clone()
        nonzeros.lerp_(change.count_nonzero().to(nonzeros) / len(change), 1 - self.decay)
        moved.add_(torch.where(nonzeros < self.target, 1, -1).to(moved), alpha=self.step)
        return moved.clamp_(min=-self.alpha).clone()


def _norms(table: Tensor) -> Tensor:
    """(T, *parts) -> (T, 1, ..., 1)."""
    return table.flatten(1).norm(dim=-1).view(-1, *[1] * (table.ndim - 1))
