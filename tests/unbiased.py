"""Whether an estimator's gradient is unbiased: a z-test over many draws."""

from collections.abc import Callable

import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import draw_scores

Loss = Callable[[Tensor], Tensor]  # parts (T, *parts) -> (T,)

# name -> the family, the shape of its parts, all of its structures
FAMILIES = {
    "trees": (sp.DependencyTrees(), (4, 5), sp.DependencyTrees().enumerate(4)),
    "chain": (sp.LinearChain(), (4, 2, 3), sp.LinearChain().enumerate(4, 2)),
    "alignment": (sp.Alignment(), (3, 4), sp.Alignment().enumerate(3, 4)),
}

LOSSES = ("linear", "quadratic", "nonlinear")


def loss_of(kind: str, shape: tuple[int, ...]) -> Loss:
    """A loss of the parts, with random coefficients."""
    size = torch.Size(shape).numel()
    linear, matrix = draw_scores("normal", 2, (size, size), seed=5)
    if kind == "linear":
        return lambda parts: parts.flatten(1) @ linear[0]
    if kind == "quadratic":
        return lambda parts: ((parts.flatten(1) @ matrix) * parts.flatten(1)).sum(-1)
    return lambda parts: 3 * (parts.flatten(1) @ linear).sin().sum(-1)


def exact_slope(
    scores: Tensor, structure: sp.Structure, everything: Tensor, loss: Loss, temperature: float = 1
) -> Tensor:
    """d E[loss] / d scores (*parts) of the Gibbs distribution, as a sum over all structures."""
    parts = structure.indicator(everything, tuple(scores.shape))
    p = (torch.where(parts > 0, scores, 0).flatten(1).sum(-1) / temperature).softmax(-1)
    mean = (p @ parts.flatten(1)).reshape(scores.shape)
    losses = loss(parts).reshape(-1, *[1] * scores.ndim)
    return (p.reshape(losses.shape) * losses * (parts - mean)).sum(0) / temperature


def deviations(
    estimator: sp.Estimator, family: str, kind: str, draws: int = 6000, temperature: float = 1
) -> Tensor:
    """The error of the mean gradient in standard errors, for each part and along the true
    gradient: approximately normal if the estimator is unbiased.
    """
    structure, shape, everything = FAMILIES[family]
    loss = loss_of(kind, shape)
    one = draw_scores("normal", 1, shape, seed=7)
    scores = one.expand(draws, *shape).clone().requires_grad_()
    generator = torch.Generator().manual_seed(11)

    def draw() -> Tensor:
        post = estimator(scores, structure, generator=generator)
        value = post.expect(loss(post.parts)).sum()
        return torch.autograd.grad(value, scores)[0].flatten(1)

    if hasattr(estimator, "memory"):
        draw()  # its adaptive state affects the next draw
    slopes = draw()
    exact = exact_slope(one[0], structure, everything, loss, temperature).flatten()
    along = slopes @ exact / exact.norm()
    found = torch.cat([slopes, along[:, None]], 1)
    wanted = torch.cat([exact, exact.norm()[None]])
    error = found.std(0) / draws**0.5
    moves = error > 1e-12
    torch.testing.assert_close(found.mean(0)[~moves], wanted[~moves])
    return ((found.mean(0) - wanted) / error)[moves]
