"""The conformance kits on user-defined structures and an estimator."""

from dataclasses import dataclass
from itertools import combinations, permutations
from typing import ClassVar

import scipy.optimize
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.estimators.base import GradientThrough, Problem
from sparsewood.testing import EstimatorConformance, StructureConformance


class Subsets(sp.Structure):
    """All subsets of exactly two of n parts; a structure is the two indices in rising order."""

    def __init__(self, n: int) -> None:
        self.n = n

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        return scores.topk(2, -1).indices.sort(-1).values

    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        return torch.zeros(len(structures), self.n).double().scatter(1, structures, 1.0)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        if scores.shape[1:] != (self.n,):
            raise ValueError(f"expected (B, {self.n}), got {tuple(scores.shape)}")

    def enumerate(self, n: int) -> Tensor:
        return torch.tensor(list(combinations(range(n), 2)))


class Matchings(sp.Structure):
    """Perfect matchings of n rows to n columns; a structure is the column of each row."""

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        # SciPy rejects tables without a matching; any matching will do.
        finite = scores.nan_to_num(neginf=-1e30)
        solve = scipy.optimize.linear_sum_assignment
        columns = [torch.from_numpy(solve(table, maximize=True)[1]) for table in finite.numpy()]
        return torch.stack(columns)

    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        return torch.nn.functional.one_hot(structures, structures.shape[-1]).double()

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        if scores.ndim != 3 or scores.shape[1] != scores.shape[2]:
            raise ValueError(f"expected (B, n, n), got {tuple(scores.shape)}")

    def enumerate(self, n: int) -> Tensor:
        return torch.tensor(list(permutations(range(n))))


@dataclass(frozen=True, repr=False)
class Best(sp.Estimator):
    """The best structure, with the gradient of its parts passed to the scores."""

    gradient_through: ClassVar[GradientThrough] = "parts"

    def estimate(self, problem: Problem) -> sp.Posterior:
        scores, structure, lengths, _ = problem
        post = sp.TopK(1)(scores, structure, lengths)
        flat = scores.reshape(-1, *post.shape)  # methods of a structure see one batch dimension
        read = structure.reads(flat, None if lengths is None else lengths.flatten())
        slope = torch.where(read & flat.isfinite(), flat, 0)
        return post.with_parts(post.parts + (slope - slope.detach()))


class TestBest(EstimatorConformance):
    estimator = Best()
    exact = False


class TestSubsets(StructureConformance):
    structure = Subsets(5)
    sizes = (5, 5)
    shape = staticmethod(lambda n: (n,))


class TestMatchings(StructureConformance):
    structure = Matchings()
    shape = staticmethod(lambda n: (n, n))
