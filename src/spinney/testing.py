"""The conformance kit: subclass `StructureConformance` under pytest and your structure is checked.

    class TestMyStructure(StructureConformance):
        structure = MyStructure()
        shape = staticmethod(lambda n: (n, n))  # of the parts of an instance of size n

The structure must define `enumerate`, here the ground truth: everything is compared with sums over
all structures of small instances. Needs hypothesis and pytest; `spinney` itself never
imports this module.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from torch import Tensor

from spinney.inference.sparsemap import sparsemap
from spinney.posterior import SparsePosterior
from spinney.structures.base import Structure

Solver = Literal["native", "generic"]

KINDS = ("normal", "small", "large", "integers", "equal", "forbidden")

_settings = settings(
    deadline=None,
    max_examples=20,
    suppress_health_check=[
        HealthCheck.differing_executors,  # the same tests run in every subclass
        HealthCheck.filter_too_much,  # points at a kink have no derivative to check
        HealthCheck.too_slow,
    ],
)


def draw_scores(kind: str, batch: int, shape: tuple[int, ...], seed: int) -> Tensor:
    """Scores (batch, *shape) float64 of a named kind, the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(batch, *shape, dtype=torch.float64, generator=generator)
    if kind == "small":
        return scores * 1e-6
    if kind == "large":
        return scores * 1e6
    if kind == "integers":  # ties, and optima at which weights vanish
        return scores.round()
    if kind == "equal":
        return torch.full_like(scores, 0.1)
    if kind == "forbidden":
        banned = torch.rand(scores.shape, generator=generator) < 0.2
        return scores.masked_fill(banned, -torch.inf)
    return scores


def project(theta: Tensor, columns: Tensor) -> Tensor:
    """The point of the convex hull of `columns` (count, P) nearest to `theta` (P,): SparseMAP.

    Wolfe's method (1976) over all columns at once, by least squares and without a MAP oracle.
    """
    chosen = [int((columns @ theta).argmax())]
    weights = torch.ones(1, dtype=torch.float64)
    for _ in range(10 * len(columns)):
        goal = _affine_weights(theta, columns[chosen])
        if (goal > 1e-13).all():
            weights = goal
            u = weights @ columns[chosen]
            advantage = columns @ (theta - u) - u @ (theta - u)
            best = int(advantage.argmax())
            if advantage[best] <= 1e-13 * (1 + theta.abs().sum()) or best in chosen:
                return u
            chosen.append(best)
            weights = torch.cat([weights, weights.new_zeros(1)])
            continue
        step = torch.where(goal > 1e-13, torch.inf, weights / (weights - goal).clamp(min=1e-15))
        leaving = int(step.argmin())
        weights = weights + step[leaving].clamp(max=1) * (goal - weights)
        weights = torch.cat([weights[:leaving], weights[leaving + 1 :]])
        del chosen[leaving]
    raise AssertionError("the reference projection did not finish")


def _affine_weights(theta: Tensor, columns: Tensor) -> Tensor:
    """Weights, of any sign and summing to 1, of the point of the affine hull nearest to `theta`."""
    directions = (columns[1:] - columns[0]).T
    rest = torch.linalg.lstsq(directions, (theta - columns[0])[:, None], driver="gelsd").solution
    return torch.cat([1 - rest.sum(0), rest[:, 0]])


class StructureConformance:
    """What every structure has to satisfy, as pytest tests. Set `structure` and `shape`.

    With `has_lengths`, an instance of size `n` occupies the leading corner of a larger table of
    scores, and `lengths` says so.
    """

    structure: ClassVar[Structure]
    sizes: ClassVar[tuple[int, int]] = (1, 4)  # smallest and largest size that is drawn
    has_lengths: ClassVar[bool] = False

    @staticmethod
    def shape(n: int) -> tuple[int, ...]:
        """The shape of the scores of an instance of size `n`, without the batch."""
        raise NotImplementedError

    @property
    def solvers(self) -> tuple[Solver, ...]:
        return ("generic",) if self.structure.native is None else ("native", "generic")

    def test_enumerate_lists_each_structure_once(self) -> None:
        for n in range(self.sizes[0], self.sizes[1] + 1):
            everything = self.structure.enumerate(n)
            assert len(everything) == self.structure.count(n)
            assert len(everything.unique(dim=0)) == len(everything)
            parts = self.structure.indicator(everything)
            assert parts.shape == (len(everything), *self.shape(n))
            assert parts.dtype == torch.float64
            assert ((parts == 0) | (parts == 1)).all()

    @_settings
    @given(st.data())
    def test_oracle_finds_the_best(self, data: st.DataObject) -> None:
        case = self._draw(data)
        best = self.structure.argmax(case.scores)
        assert best.dtype == torch.int64
        assert _members(best, case.everything).all()
        found = _totals(case.theta, self.structure.indicator(best).flatten(1)[:, None])[:, 0]
        highest = _totals(case.theta, case.columns).amax(-1)
        torch.testing.assert_close(found, highest, rtol=1e-12, atol=1e-12)

    @_settings
    @given(st.data())
    def test_marginals_are_the_projection(self, data: st.DataObject) -> None:
        case = self._draw(data, kinds=[kind for kind in KINDS if kind != "large"])
        for solver in self.solvers:
            post = sparsemap(case.scores, self.structure, tol=0.0, solver=solver)
            for theta, u in zip(case.theta, post.marginals.flatten(1), strict=True):
                allowed = theta.isfinite()
                usable = case.columns[(case.columns[:, ~allowed] == 0).all(-1)]
                nearest = project(torch.where(allowed, theta, 0), usable)
                torch.testing.assert_close(u, nearest, rtol=0, atol=1e-7)

    @_settings
    @given(st.data())
    def test_certificate_and_consistency(self, data: st.DataObject) -> None:
        case = self._draw(data)
        for solver in self.solvers:
            post = sparsemap(case.scores, self.structure, solver=solver)
            self._check_posterior(post, case)

    def _check_posterior(self, post: SparsePosterior, case: "_Case") -> None:
        u = post.marginals.flatten(1)
        scores = _totals(case.theta - u, case.columns)
        here = _totals(case.theta - u, u[:, None])[:, 0]
        scale = _range(case.theta, case.reads).clamp(min=1)
        assert post.converged.all()
        assert (post.gap <= 1e-9 * scale).all()
        assert ((scores.amax(-1) - here - post.gap).abs() <= 1e-9 * scale).all()

        assert (post.weights > 0).all()
        parts = self.structure.indicator(post.structures)
        torch.testing.assert_close(post.expect(parts), post.marginals, rtol=0, atol=1e-12)
        one = torch.ones(len(post), dtype=torch.float64)
        torch.testing.assert_close(post.expect(post.weights.new_ones(len(parts))), one)
        assert (post.sizes <= u.shape[1] + 1).all()
        assert _members(post.structures, case.everything).all()
        for one_post in post:
            assert len(one_post.structures.unique(dim=0)) == len(one_post.structures)

    @settings(_settings, max_examples=4)
    @given(st.data())
    def test_derivatives(self, data: st.DataObject) -> None:
        case = self._draw(data, kinds=["normal"], batch=8, largest=3)
        for solver in self.solvers:
            smooth, unique = self._smooth(case, solver)
            for rows, name in ((smooth, "marginals"), (unique, "weights")):
                assume(rows.any())
                scores = case.scores[rows][:1].requires_grad_()
                self._check_derivatives(scores, name, solver)

    def _check_derivatives(self, scores: Tensor, name: str, solver: Solver) -> None:
        temperature = torch.full((len(scores),), 1.0, dtype=torch.float64, requires_grad=True)

        def infer(scores: Tensor, temperature: Tensor) -> Tensor:
            post = sparsemap(scores, self.structure, temperature=temperature, solver=solver)
            return getattr(post, name)

        assert torch.autograd.gradcheck(infer, (scores, temperature))
        assert torch.autograd.gradgradcheck(infer, (scores, temperature), fast_mode=True)

    def _smooth(self, case: "_Case", solver: Solver) -> tuple[Tensor, Tensor]:
        """Where the marginals, and where the weights too, are differentiable: two (B,) masks.

        The marginals are inside a face of the polytope, away from its border and from the point
        at which a larger face takes over. If all vertices of the face are in the support, the
        weights are unique, and smooth too.
        """
        post = sparsemap(case.scores, self.structure, solver=solver)
        smooth, unique = [], []
        for theta, one in zip(case.theta, post, strict=True):
            potential = _totals((theta - one.marginals.flatten())[None], case.columns)[0]
            slack = potential.max() - potential
            face = case.columns[slack < 1e-9]
            support = self.structure.indicator(one.structures).flatten(1)
            away = bool((one.weights > 1e-3).all() and (slack[slack >= 1e-9] > 1e-3).all())
            smooth.append(away and _affine_rank(face) == _affine_rank(support))
            unique.append(away and len(face) == len(support))
        return torch.tensor(smooth), torch.tensor(unique)

    @_settings
    @given(st.data())
    def test_instances_do_not_see_each_other(self, data: st.DataObject) -> None:
        case = self._draw(data, batch=4)
        order = torch.tensor(data.draw(st.permutations(range(4))))
        for solver in self.solvers:
            post = sparsemap(case.scores, self.structure, solver=solver)
            shuffled = sparsemap(case.scores[order], self.structure, solver=solver)
            for k, b in enumerate(order.tolist()):
                alone = sparsemap(case.scores[b : b + 1], self.structure, solver=solver)
                _check_same(post[b], shuffled[k], exact=solver == "native")
                _check_same(post[b], alone, exact=solver == "native")

    @_settings
    @given(st.data())
    def test_padding_is_never_read(self, data: st.DataObject) -> None:
        if not self.has_lengths:
            pytest.skip("all instances of this structure have the same size")
        case = self._draw(data)
        n, larger = case.size, case.size + data.draw(st.integers(1, 3))
        corner = (slice(None), *(slice(0, k) for k in self.shape(n)))
        padded = torch.full((len(case.scores), *self.shape(larger)), torch.nan).double()
        padded[corner] = case.scores.masked_fill(~case.reads.reshape(case.scores.shape), torch.nan)
        zeros = padded.nan_to_num(nan=0.0, neginf=-torch.inf)
        lengths = torch.full((len(padded),), n)
        for solver in self.solvers:
            plain = sparsemap(case.scores, self.structure, solver=solver)
            post = sparsemap(padded, self.structure, lengths=lengths, solver=solver)
            clean = sparsemap(zeros, self.structure, lengths=lengths, solver=solver)
            assert torch.equal(post.weights, clean.weights)
            assert torch.equal(post.structures, clean.structures)
            assert torch.equal(post.marginals, clean.marginals)
            outside = post.marginals.clone()
            outside[corner] = 0.0
            assert (outside == 0).all()
            for b in range(len(post)):
                _check_same(post[b], plain[b], exact=solver == "native", corner=corner)

    def test_padding_has_no_gradient(self) -> None:
        if not self.has_lengths:
            pytest.skip("all instances of this structure have the same size")
        n = self.sizes[1]
        scores = draw_scores("normal", 2, self.shape(n), seed=0)
        lengths = torch.tensor([n, max(n - 1, self.sizes[0])])
        reads = self.structure.reads(scores, lengths)
        scores = scores.masked_fill(~reads, torch.nan).requires_grad_()
        temperature = torch.ones(2, dtype=torch.float64, requires_grad=True)
        for solver in self.solvers:
            post = sparsemap(
                scores, self.structure, lengths=lengths, temperature=temperature, solver=solver
            )
            loss = post.marginals.square().sum() + post.weights.square().sum()
            by_scores, by_temperature = torch.autograd.grad(loss, (scores, temperature))
            assert (by_scores[~reads] == 0).all()
            assert by_scores.isfinite().all()
            assert by_temperature.isfinite().all()

    def test_dtype_follows_the_scores(self) -> None:
        for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
            scores = draw_scores("normal", 2, self.shape(self.sizes[1]), seed=0).to(dtype)
            before = scores.clone()
            for solver in self.solvers:
                post = sparsemap(scores, self.structure, solver=solver)
                assert post.weights.dtype == post.marginals.dtype == dtype
                assert post.gap.dtype == torch.float64
                assert torch.equal(scores, before)
                exact = sparsemap(scores.double(), self.structure, solver=solver)
                assert torch.equal(post.marginals, exact.marginals.to(dtype))

    def test_bad_scores_are_named(self) -> None:
        good = draw_scores("normal", 3, self.shape(self.sizes[1]), seed=0)
        part = tuple(self.structure.reads(good)[1].nonzero()[-1].tolist())
        for solver in self.solvers:
            for value in (torch.nan, torch.inf):
                bad = good.clone()
                bad[(1, *part)] = value
                with pytest.raises(ValueError, match=r"\b1\b"):
                    sparsemap(bad, self.structure, solver=solver)
            empty = good.clone()
            empty[2] = -torch.inf
            with pytest.raises(ValueError, match=r"\b2\b"):
                sparsemap(empty, self.structure, solver=solver)
            for bad in (good.long(), good[0], good[:, None], good[..., :-1]):
                with pytest.raises(ValueError, match="scores|expected"):
                    sparsemap(bad, self.structure, solver=solver)

    def test_bad_lengths_are_named(self) -> None:
        if not self.has_lengths:
            pytest.skip("all instances of this structure have the same size")
        n = self.sizes[1]
        scores = draw_scores("normal", 3, self.shape(n), seed=0)
        bad_lengths = [[n, 0, n], [n, n + 1, n], [n, -1, n], [n, n], [float(n)] * 3]
        for solver in self.solvers:
            for bad in bad_lengths:
                with pytest.raises(ValueError, match="lengths"):
                    sparsemap(scores, self.structure, lengths=torch.tensor(bad), solver=solver)

    def test_empty_batch(self) -> None:
        scores = draw_scores("normal", 0, self.shape(self.sizes[1]), seed=0)
        for solver in self.solvers:
            post = sparsemap(scores, self.structure, solver=solver)
            assert len(post) == len(post.weights) == len(post.structures) == 0
            assert post.marginals.shape == scores.shape
            assert post.mode.shape == post.structures.shape

    def _draw(
        self,
        data: st.DataObject,
        kinds: Sequence[str] = KINDS,
        batch: int | None = None,
        largest: int = 100,
    ) -> "_Case":
        """A batch of instances of one size, each of which has a structure."""
        low, high = self.sizes
        n = data.draw(st.integers(low, max(low, min(high, largest))))
        batch = data.draw(st.integers(1, 3)) if batch is None else batch
        kind = data.draw(st.sampled_from(kinds))
        seed = data.draw(st.integers(0, 2**32 - 1))
        scores = draw_scores(kind, batch, self.shape(n), seed)
        everything = self.structure.enumerate(n)
        columns = self.structure.indicator(everything).flatten(1)
        dead = _totals(scores.flatten(1), columns).amax(-1) == -torch.inf
        scores[dead] = scores[dead].nan_to_num(neginf=0.0)
        reads = self.structure.reads(scores).flatten(1)
        return _Case(n, scores, scores.flatten(1), reads, everything, columns)


@dataclass
class _Case:
    """A drawn batch, and all structures of its size."""

    size: int
    scores: Tensor  # (B, *parts)
    theta: Tensor  # (B, P)
    reads: Tensor  # (B, P) bool
    everything: Tensor  # (count, *event)
    columns: Tensor  # (count, P) 0/1


def _totals(theta: Tensor, columns: Tensor) -> Tensor:
    """`<theta, m>` of each of (count, P) or (B, count, P) columns: (B, count). -inf * 0 is 0."""
    return torch.where(columns != 0, theta[:, None], 0).mul(columns).sum(-1)


def _range(theta: Tensor, reads: Tensor) -> Tensor:
    """Largest minus smallest finite score that is read: (B,)."""
    seen = reads & theta.isfinite()
    high = torch.where(seen, theta, -torch.inf).amax(-1)
    return high - torch.where(seen, theta, torch.inf).amin(-1)


def _affine_rank(columns: Tensor) -> int:
    return int(torch.linalg.matrix_rank(columns - columns[0]))


def _members(structures: Tensor, everything: Tensor) -> Tensor:
    """Which of (T, *event) are among (count, *event): (T,) bool."""
    same = structures[:, None] == everything[None]
    return same.flatten(2).all(-1).any(-1) if same.ndim > 2 else same.any(-1)


def _check_same(
    a: SparsePosterior,
    b: SparsePosterior,
    *,
    exact: bool,
    corner: tuple[slice, ...] = (),
) -> None:
    """One instance in two batches: bit by bit, or up to the rounding of batched algebra.

    Where the weights are not unique, rounding may decide between them, so they count only if exact.
    `corner` is where the parts of `b` are among those of `a`.
    """
    if exact:
        assert torch.equal(a.weights, b.weights)
        assert torch.equal(a.marginals[corner], b.marginals)
        assert torch.equal(a.gap, b.gap)
    else:
        torch.testing.assert_close(a.marginals[corner], b.marginals, rtol=0, atol=1e-9)
