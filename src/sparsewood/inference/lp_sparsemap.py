"""LP-SparseMAP: sparse, differentiable marginals of a factor graph."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import torch
from torch import Tensor

from sparsewood._internal.batch import BatchShape
from sparsewood._internal.lazy import CopiedWithGraph
from sparsewood._internal.numbers import check_real, check_whole
from sparsewood._internal.support import sum_by_instance
from sparsewood._internal.transforms import nested, no_vmap
from sparsewood.inference._check import (
    check_finite,
    check_graph,
    check_magnitude,
    check_positive,
    check_temperature,
)
from sparsewood.inference._lp_admm import State
from sparsewood.inference._lp_polish import Faces, Support
from sparsewood.inference._lp_problem import LPProblem
from sparsewood.inference.sparsemap import sparsemap
from sparsewood.sparse_posterior import SparsePosterior
from sparsewood.status import Status
from sparsewood.structures.factor_graph import FactorGraph
from sparsewood.structures.logic import LogicFactor

_INTEGRAL = 1e-9


def lp_sparsemap(
    scores: Tensor,
    graph: FactorGraph,
    *,
    temperature: float | Tensor = 1.0,
    tol: float = 1e-6,
    max_iter: int = 1000,
    start: "LPPosterior | None" = None,
) -> "LPPosterior":
    r"""Marginals of the variables of a factor graph, for each instance of a batch.

    Solves, with `mu_f` the variables of factor `f` and `P_f` the convex hull of its structures,

        max  <theta, mu> - 1/2 ||mu||^2    subject to    mu_f in P_f for every factor f

    with `theta = scores / temperature` (Niculae & Martins 2020, "LP-SparseMAP: Differentiable
    Relaxed Optimization for Sparse Structured Prediction", section 3). Variables at parts without
    penalty are excluded from the norm. With one factor this is SparseMAP. With several, the
    constraints hold per factor, so `mu` may lie outside the convex hull of the assignments that
    satisfy all factors; `LPPosterior.tight` says for which instances it lies inside.

    Each factor solves SparseMAP for its own copies of the variables, and ADMM makes the copies
    agree (algorithm 1 of the paper). Periodically the exact solution on the current faces is
    computed; the solve ends once that is certified.

    Args:
        scores: (*batch, V), or (*batch, *shape) if a single call of `graph.variables` created all
            variables. -inf forbids a variable. Scores of variables that no factor can use may hold
            any value.
        graph: the variables and factors; the same for all instances.
        temperature: a positive number, or (*batch,) one per instance; differentiable.
        tol: maximum distance of the marginals from the solution.
        max_iter: maximum number of ADMM rounds. `converged` is False where more were needed.
        start: warm start: the answer for similar scores over the same graph.

    Returns:
        An `LPPosterior`. The marginals have the dtype and device of `scores` and are differentiable
        with respect to `scores` and `temperature`.

    Raises:
        ValueError: bad shapes or dtypes; NaN or +inf among the scores; a factor that has no
            assignment left. If factors contradict each other, `converged` is False.

    Example:
        >>> graph = sp.FactorGraph()
        >>> x = graph.variables(3)
        >>> first = graph.add(sp.Xor(), x[:2])
        >>> second = graph.add(sp.Implies(), [x[1], x[2]])
        >>> sp.lp_sparsemap(torch.tensor([[1.0, 0.75, 0.0]]), graph).marginals.tolist()
        [[0.75, 0.25, 0.25]]
    """
    batch, table, _ = check_graph(scores, graph)
    _check_start(start, batch, graph)
    temperature = check_temperature(temperature, table, batch)
    tol = check_real("tol", tol)
    max_iter = check_whole("max_iter", max_iter)
    with batch:
        theta, off = _potentials(table, graph, temperature)
        work = _Work(graph, None if start is None else start.state, tol, max_iter)
        marginals = cast(Tensor, _Solve.apply(theta, off, work))
    problem, state = work.problem, work.state
    converged = (state.violation <= tol) & (state.gap <= tol * (1 + problem.theta.abs().amax(-1)))
    return LPPosterior(
        graph,
        marginals.to(scores.dtype).reshape(scores.shape),
        batch.restore(state.violation),
        batch.restore(state.gap),
        batch.restore(state.rounds),
        batch.restore(converged),
        batch,
        marginals,
        problem,
        state,
    )


def _potentials(
    scores: Tensor, graph: FactorGraph, temperature: float | Tensor
) -> tuple[Tensor, Tensor]:
    """`scores / temperature` as (B, V) float64, 0 at variables that are off, and their mask."""
    if isinstance(temperature, Tensor):
        check_positive(temperature)
    unused = graph.off.to(scores.device).expand(len(scores), -1)
    flat = scores.reshape(unused.shape)
    check_finite(scores, ~unused.reshape(scores.shape))
    off = unused | (flat == -torch.inf)
    divisor = temperature.double()[:, None] if isinstance(temperature, Tensor) else temperature
    theta = torch.where(off, 0, flat).double() / divisor
    check_magnitude(theta.detach().reshape(scores.shape), ~off.reshape(scores.shape))
    return theta, off


class _Work:
    """A solve, and the state that its derivatives need."""

    problem: LPProblem
    state: State

    def __init__(self, graph: FactorGraph, start: State | None, tol: float, max_iter: int) -> None:
        self.graph, self.start, self.tol, self.max_iter = graph, start, tol, max_iter

    def solve(self, theta: Tensor, off: Tensor) -> Tensor:
        """Scores (B, V), 0 where off -> the marginals (B, V)."""
        self.problem = LPProblem.of(self.graph, theta.detach(), off)
        if bool(off.any()):
            self.problem.check_possible()
        self.state = State.begin(self.problem) if self.start is None else self.start.copy()
        self.state.run(self.problem, self.tol, self.max_iter)
        return self.state.marginals[:, :-1].clone()

    def jacobian(self, direction: Tensor) -> Tensor:
        """(B, V) -> (B, V), symmetric."""
        if len(direction) == 0:
            return direction
        return self._faces.jacobian(torch.nn.functional.pad(direction, (0, 1)))[:, :-1]

    @cached_property
    def _faces(self) -> Faces:
        with torch.no_grad():
            return Faces.at(self.problem, self.state.scores)


class _Solve(torch.autograd.Function):
    """The marginals of a `_Work`: their Jacobian is symmetric, and constant near the scores."""

    @staticmethod
    def forward(theta: Tensor, off: Tensor, work: _Work) -> Tensor:
        return work.solve(theta, off)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.work = inputs[2]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.work.jacobian(grads[0]), None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        with nested():
            return ctx.work.jacobian(tangents[0])

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> None:
        raise no_vmap("lp_sparsemap")


@dataclass(frozen=True, eq=False)
class LPPosterior(CopiedWithGraph):
    """Marginals of a factor graph, with their certificate, for each instance of a batch.

    Attributes:
        graph: the factor graph.
        marginals: the shape of the scores; differentiable. For scores (*batch, V),
            `marginals[..., x]` are the marginals of the variables `x`.
        violation: (*batch,) float64, distance of the marginals from satisfying every factor.
        gap: (*batch,) float64: bound on the suboptimality of the objective if `violation` is 0.
        rounds: (*batch,) int64, number of ADMM rounds.
        converged: (*batch,) bool, whether violation and gap (relative to the scores) are within
            `tol`.
    """

    graph: FactorGraph
    marginals: Tensor
    violation: Tensor
    gap: Tensor
    rounds: Tensor
    converged: Tensor
    batch: BatchShape = field(repr=False)  # the batch shape; the fields below are flat
    exact: Tensor = field(repr=False)  # (B, V) the marginals in float64
    problem: LPProblem = field(repr=False)
    state: State = field(repr=False)

    def factor(self, number: int) -> SparsePosterior:
        """The posterior over the structures of one factor, with the marginals of the graph.

        `number` is the return value of `FactorGraph.add`. The weights are differentiable. Not for
        logic factors, which are solved in closed form without structures.
        """
        if not 0 <= number < len(self.graph.factors):
            raise ValueError(
                f"factor: expected a number from 0 to {len(self.graph.factors) - 1}, got {number}"
            )
        structure = self.graph.factors[number].structure
        if isinstance(structure, LogicFactor):
            raise ValueError(f"factor {number} ({structure}): expected a structure, not logic")
        return self._factor(number)

    @cached_property
    def tight(self) -> Tensor:
        """(*batch,) bool: the marginals are certified to equal SparseMAP over the assignments that
        satisfy all factors.

        True if the solve converged and one of these holds: the graph has no cycles; the marginals
        are 0 and 1; or one factor contains all variables of the others, and each structure in its
        support satisfies them. False does not imply that the marginals differ.
        """
        if self.graph.is_forest:
            return self.converged.clone()
        mu = self.exact.detach()
        tight = self.batch.restore(((mu - mu.round()).abs() <= _INTEGRAL).all(-1))
        for number in range(len(self.graph.factors)):
            if not tight.all():
                tight |= self._satisfies_all(number)
        return tight & self.converged

    def __len__(self) -> int:
        return len(self.exact)

    def _factor(self, number: int) -> SparsePosterior:
        group = next(group for group in self.problem.groups if number in group.numbers)
        slots = group.slots_of(number)
        scores = self.problem.closed(self.state.scores)[:, slots].reshape(-1, *group.shape)
        post = sparsemap(scores, group.structure, tol=1e-12)
        copies = self.problem.copies(torch.nn.functional.pad(self.exact, (0, 1)))[:, slots]
        support = Support.of(post)
        weights = support.weights(copies)[support.active].clamp(min=0)
        dtype = self.marginals.dtype
        return SparsePosterior(
            group.structure,
            post.structures,
            weights.to(dtype),
            self.batch.restore(post.sizes),
            group.shape,
            gap=self.gap,
            status=torch.where(self.converged, int(Status.SOLVED), int(Status.CAPPED)),
            calls=self.batch.restore(post.calls),
            canonical=self.batch.restore(post.canonical),
            temperature=self.batch.restore(post.temperature),
            _marginals=self.batch.restore(copies.reshape(len(self), *group.shape).to(dtype)),
        )

    def _satisfies_all(self, number: int) -> Tensor:
        """(*batch,) bool: factor `number` has all variables; its support satisfies the others."""
        no = torch.zeros_like(self.converged)
        factor = self.graph.factors[number]
        held = torch.zeros(len(self.graph), dtype=torch.bool)
        held[factor.variables[factor.reads]] = True
        others = [other for other in self.graph.factors if other is not factor]
        if isinstance(factor.structure, LogicFactor) or any(
            not isinstance(other.structure, LogicFactor) or not held[other.variables].all()
            for other in others
        ):
            return no
        post = self.factor(number)
        parts = post.parts
        assignment = parts.new_zeros(len(parts), len(self.graph))
        assignment[:, factor.variables[factor.reads]] = parts[:, factor.reads]
        good = torch.ones(len(parts), dtype=torch.bool, device=parts.device)
        for other in others:
            own = assignment[:, other.variables].long()
            good &= other.structure.contains(own, tuple(own.shape[1:]))
        return sum_by_instance((~good).long(), post.instance, self.converged.shape) == 0


def _check_start(start: LPPosterior | None, batch: BatchShape, graph: FactorGraph) -> None:
    if start is not None and not isinstance(start, LPPosterior):
        raise ValueError(f"start: expected an LPPosterior, got {type(start).__name__}")
    if start is not None and (start.graph is not graph or start.batch != batch):
        raise ValueError(
            f"start: expected the result for a batch of shape {tuple(batch.shape)} over the same "
            f"graph, got one of shape {tuple(start.batch.shape)} over {start.graph}"
        )
