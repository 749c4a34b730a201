"""The k best structures, weighted by their scores."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from sparsewood._internal.numbers import check_real, check_whole
from sparsewood.estimators.base import Estimator, Primitive, Problem
from sparsewood.inference._check import check_input
from sparsewood.inference.kbest import kbest
from sparsewood.inference.sparsemap import sparsemap
from sparsewood.posterior import Posterior
from sparsewood.structures.simplex import Simplex

Weights = Literal["softmax", "sparsemax"]


@dataclass(frozen=True, repr=False)
class TopK(Estimator):
    """A distribution over only the k best structures; the gradient goes through their weights.

        weights = softmax(f) or sparsemax(f),     f_i = <scores, m(h_i)> / temperature

    over the k highest scoring structures `h_1 ... h_k` of an instance, with `m(h)` their parts.
    Structures of weight 0 are dropped (sparsemax: Martins & Astudillo 2016, "From softmax to
    sparsemax"). The gradient treats the set of structures as constant. Correia, Niculae, Aziz &
    Martins 2020, "Efficient marginalization of discrete and structured latent variables via
    sparsity".

    Args:
        k: number of structures, at least 1.
        weights: "softmax" or "sparsemax".
        temperature: scores are divided by it; lower is sharper.
    """

    k: int
    weights: Weights = "softmax"
    temperature: float = 1.0

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        check_real("temperature", self.temperature, positive=True)
        if self.weights not in get_args(Weights):
            raise ValueError(f'weights must be "softmax" or "sparsemax", got {self.weights!r}')

    def needs(self) -> tuple[Primitive, ...]:
        return ("kbest",)

    def estimate(self, problem: Problem) -> Posterior:
        scores, structure, lengths, _ = problem
        flat = check_input(scores, structure, lengths)
        best = kbest(scores.detach().double(), structure, self.k, lengths=lengths)
        batch = flat.batch.shape
        shape = tuple(scores.shape[len(batch) :])
        found = best.scores.reshape(-1, self.k).isfinite()  # -inf if there are fewer than k
        structures = best.structures.flatten(0, len(batch))[found.flatten()]
        instance = found.nonzero()[:, 0]
        parts = structure.indicator(structures, shape)
        rows = scores.reshape(-1, *shape)[instance].double()
        totals = (torch.where(parts != 0, rows, 0) * parts).flatten(1).sum(-1)
        table = totals.new_full(found.shape, -torch.inf).masked_scatter(found, totals)
        weights = self._weigh(table)[found].to(scores.dtype)
        kept = weights > 0
        return Posterior(
            structure,
            structures[kept],
            weights[kept],
            torch.bincount(instance[kept], minlength=len(found)).reshape(batch),
            shape,
            None if flat.lengths is None else flat.batch.restore(flat.lengths),
        )

    def _weigh(self, totals: Tensor) -> Tensor:
        """(B, k) scores, -inf for missing structures -> (B, k) weights."""
        best = totals.detach().amax(-1, keepdim=True)  # leaves weights unchanged, avoids overflow
        theta = (totals - best) / self.temperature
        if self.weights == "softmax":
            return theta.softmax(-1)
        return sparsemap(theta, Simplex()).marginals
