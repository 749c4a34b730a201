"""Implicit maximum likelihood whose step follows the number of parts that get a gradient."""

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
    """What an `AIMLE` has learnt, as buffers.

    Attributes:
        moved: how far alpha is from where it began.
        nonzeros: running mean of the number of parts that a structure gives a gradient to.
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

    with noise `e_k`, the parts `m(h)` of structures, MAP on the right for the parts of the best
    one, and `g_k` the gradient on the parts of `h_k`, with the factor of 1/K that the weight gives
    it. The norm of theta is over parts that are not forbidden: where all are 0, there is no
    gradient. After each backward pass `alpha` grows by `step` if so far fewer than `target` parts
    of a structure have got a gradient other than 0, in a running mean, and falls by it otherwise.
    The forward pass fixes which `alpha` its gradients are by.

    Minervini, Franceschi & Niepert 2023, "Adaptive perturbation-based gradient estimation for
    discrete latent variable models", the section on AIMLE. The norms are those of each structure on
    its own, so that no instance depends on others in its batch but by `alpha`.

    Args:
        alpha: where the relative step begins.
        target: the number of parts that should get a gradient.
        step: by which alpha changes each time.
        decay: of the running mean.
        tau: the scale of the noise; 0 for none.
        noise: "sum-of-gamma", "gumbel" or "normal", as for `IMLE`.
        samples: how many structures, K.
        symmetric: whether to take the central difference, at one more call of the oracle.
        memory: what has been learnt so far. `dataclasses.replace` shares it; equality, names and
            JSON leave it out. A model saves it if it is one of its modules.
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
        """Move alpha after the gradients (T, *parts) of a batch, up to their factors."""
        moved, nonzeros = self.memory.moved, self.memory.nonzeros
        if len(change) == 0:
            return moved.clone()
        nonzeros.lerp_(change.count_nonzero().to(nonzeros) / len(change), 1 - self.decay)
        moved.add_(torch.where(nonzeros < self.target, 1, -1).to(moved), alpha=self.step)
        return moved.clamp_(min=-self.alpha).clone()


def _norms(table: Tensor) -> Tensor:
    """(T, *parts) -> (T, 1, ..., 1)."""
    return table.flatten(1).norm(dim=-1).view(-1, *[1] * (table.ndim - 1))
