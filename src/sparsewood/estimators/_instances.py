"""The instances of a problem, each repeated, for estimators that call the oracle."""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from sparsewood._internal.batch import BatchShape
from sparsewood._internal.transforms import is_transformed
from sparsewood.estimators._carried import Rule, carried
from sparsewood.estimators.base import Problem
from sparsewood.inference._check import check_input, check_values
from sparsewood.inference.map import map
from sparsewood.posterior import Posterior
from sparsewood.structures.base import Structure


@dataclass(frozen=True)
class Instances:
    """`B` instances, each repeated `copies` times: `T = B * copies` rows, ordered by instance.

    Attributes:
        structure: the family of structures.
        batch: the batch shape of the problem.
        given: (B, *parts), the scores with their autograd graph.
        lengths: (B,) or (B, d), or None.
        allowed: (B, *parts) bool, the parts that are read and not forbidden.
        copies: number of rows per instance.
    """

    structure: Structure
    batch: BatchShape
    given: Tensor
    lengths: Tensor | None
    allowed: Tensor
    copies: int = 1

    @classmethod
    def of(cls, problem: Problem, copies: int = 1) -> "Instances":
        """Check the problem; raises ValueError if a score is NaN or +inf."""
        structure = problem.structure
        batch, scores, lengths = check_input(problem.scores, structure, problem.lengths)
        reads = structure.reads(scores, lengths)
        with batch:
            check_values(scores.detach(), reads)
        allowed = reads & (scores.detach() != -torch.inf)
        return cls(structure, batch, scores, lengths, allowed, copies)

    @property
    def theta(self) -> Tensor:
        """(T, *parts) float64, the scores, detached."""
        return self.rows(self.given.detach().double())

    def rows(self, table: Tensor) -> Tensor:
        """(B, ...) -> (T, ...)."""
        return table.repeat_interleave(self.copies, 0)

    def only_allowed(self, table: Tensor, rest: float = 0.0) -> Tensor:
        """(T, *parts) with `rest` at parts that are not read or forbidden."""
        return torch.where(self.rows(self.allowed), table, rest)

    def best(self, theta: Tensor) -> Tensor:
        """(T, *event), the MAP structures of scores (T, *parts)."""
        lengths = None if self.lengths is None else self.rows(self.lengths)
        with self.batch:
            try:
                return map(theta, self.structure, lengths=lengths).structures
            except ValueError:
                if self.copies > 1:  # errors name the instance, not the row
                    map(self.given, self.structure, lengths=self.lengths)
                raise

    def parts(self, structures: Tensor) -> Tensor:
        """(T, *event) -> (T, *parts) float64."""
        return self.structure.indicator(structures, tuple(self.given.shape[1:]))

    def best_parts(self, theta: Tensor) -> Tensor:
        """The parts of the MAP structures of scores (T, *parts)."""
        return self.parts(self.best(theta))

    def posterior(self, structures: Tensor) -> Posterior:
        """Equal weights on the structures (T, *event) of the rows."""
        shape, dtype = tuple(self.given.shape[1:]), self.given.dtype
        lengths = None if self.lengths is None else self.batch.restore(self.lengths)
        return Posterior.uniform(
            self.structure, structures, self.batch.shape, shape, lengths, dtype
        )

    @property
    def learns(self) -> bool:
        """Whether the scores need a gradient."""
        scores = self.given
        return is_transformed(scores) or (torch.is_grad_enabled() and scores.requires_grad)

    def with_rule(self, structures: Tensor, rule: Rule | None) -> Posterior:
        """The posterior whose parts (T, *parts) pass their gradient to the scores by a rule.

        The rule maps the gradient of the parts to the gradient of the scores, both (T, *parts)
        float64. Its input is 0 at parts that are not read or forbidden, and finite; its output at
        such parts is ignored. Rows whose gradient is not finite get NaN.
        """
        post = self.posterior(structures)
        if not self.learns:
            return post
        carrier = self.only_allowed(self.rows(self.given))
        finite_rule = None if rule is None else partial(self._apply, rule)
        return post.with_parts(carried(self.parts(structures), carrier, finite_rule))

    def _apply(self, rule: Rule, gradient: Tensor) -> Tensor:
        """Apply the rule where gradients are finite; scaled losses may overflow."""
        gradient = self.only_allowed(gradient)
        finite = gradient.isfinite().flatten(1).all(-1).view(-1, *[1] * (gradient.ndim - 1))
        return torch.where(finite, rule(torch.where(finite, gradient, 0)), torch.nan)
