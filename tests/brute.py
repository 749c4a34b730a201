"""Small problems of several families, solved by enumeration."""

from typing import NamedTuple

import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import draw_scores
from sparsewood.testing.reference import totals


class Small(NamedTuple):
    """A family of a fixed size and all of its structures."""

    structure: sp.Structure
    columns: Tensor  # (count, P) 0/1, their parts
    shape: tuple[int, ...]

    def scores(self, count: int, seed: int) -> Tensor:
        """(count, *parts); the first instance forbids a part that not all structures use."""
        scores = draw_scores("normal", count, self.shape, seed)
        share = self.columns.mean(0)
        scores[0].view(-1)[int(((share > 0) & (share < 1)).nonzero()[-1])] = -torch.inf
        return scores

    def best(self, theta: Tensor) -> Tensor:
        """The parts of the best structures of (T, *parts)."""
        return self.columns[totals(theta.flatten(1), self.columns).argmax(-1)].view(theta.shape)

    def soft(self, theta: Tensor) -> Tensor:
        """The marginals of the Gibbs distribution."""
        p = totals(theta.flatten(1), self.columns).softmax(-1)
        return (p @ self.columns).view(theta.shape)

    def allowed(self, scores: Tensor) -> Tensor:
        """The parts that are read and not forbidden."""
        return self.structure.reads(scores) & (scores != -torch.inf)


def _small(structure: sp.Structure, shape: tuple[int, ...], *size: int) -> Small:
    columns = structure.indicator(structure.enumerate(*size), shape).flatten(1)
    return Small(structure, columns, shape)


SMALL = {
    "trees": _small(sp.DependencyTrees(), (3, 4), 3),
    "matching": _small(sp.Matching(), (3, 3), 3, 3),
    "chain": _small(sp.LinearChain(), (3, 2, 3), 3, 2),
}


def slope(estimator: sp.Estimator, small: Small, scores: Tensor, g: Tensor, seed: int) -> Tensor:
    """The gradient of the scores (B, *parts) that an estimator computes from `g` (T, *parts)."""
    leaf = scores.clone().requires_grad_()
    generator = torch.Generator().manual_seed(seed)
    post = estimator(leaf, small.structure, generator=generator)
    return torch.autograd.grad((g * post.parts).sum(), leaf)[0]
