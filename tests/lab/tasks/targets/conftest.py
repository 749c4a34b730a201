"""Posteriors to take expectations over, and what they are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import pytest
import torch
from torch import Tensor

from sparsewood import DependencyTrees, sparsemap
from sparsewood.pairs import PairPosterior
from sparsewood.posterior import Posterior


@dataclass(frozen=True)
class Mixture:
    """A posterior, and the weights of the structures of each example one by one."""

    posterior: Posterior | PairPosterior
    weights: list[list[float]]

    @property
    def total(self) -> int:
        return sum(map(len, self.weights))

    def parts(self, values: Tensor) -> list[list[tuple[float, Tensor]]]:
        """Weight and value of each structure, by example, of values (total, ...)."""
        rows = iter(values)
        return [[(weight, next(rows)) for weight in own] for own in self.weights]


def _posterior(batch: int, seed: int) -> Posterior:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(batch, 3, 4, generator=generator, dtype=torch.float64) / 2
    return sparsemap(scores, DependencyTrees())


def _mixture(batch: int, seed: int, *, pairs: bool = False) -> Mixture:
    left = _posterior(batch, seed)
    of_left = [left[b].weights.tolist() for b in range(batch)]
    if not pairs:
        return Mixture(left, of_left)
    right = _posterior(batch, seed + 1)
    of_right = [right[b].weights.tolist() for b in range(batch)]
    both = zip(of_left, of_right, strict=True)
    weights = [[p * q for p, q in product(one, other)] for one, other in both]
    return Mixture(left.product(right), weights)


@pytest.fixture(scope="session")
def mixture() -> Callable[..., Mixture]:
    """(batch, seed, pairs=False) -> a mixture over trees, or over pairs of them."""
    return _mixture
