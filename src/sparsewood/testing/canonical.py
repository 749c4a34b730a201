"""Tests of canonical weights: independent of the solver, and continuous."""

from itertools import pairwise
from typing import ClassVar

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import assume, given, settings
from torch import Tensor

from sparsewood.sparse_posterior import SparsePosterior
from sparsewood.testing.devices import sparsemap
from sparsewood.testing.instances import kit_settings
from sparsewood.testing.reference import affine_rank
from sparsewood.testing.scores import draw_scores
from sparsewood.testing.solutions import Solutions, Solver

few = settings(kit_settings, max_examples=5)

Measure = dict[tuple[float, ...], float]  # the parts of each structure -> its weight


class CanonicalConformance(Solutions):
    """Canonical weights of the structure by each solver. Configure as `Instances`."""

    # The fraction of instances with generic scores that may keep the solver's weights.
    without_canonical: ClassVar[float] = 0.0

    @few
    @given(st.data())
    def test_canonical_weights_are_optimal(self, data: st.DataObject) -> None:
        case = self.draw(data)
        for solver in self.solvers:
            post = self._canonical(case.scores, solver)
            self.check_posterior(post, case)
            for one in post:
                columns = self.structure.indicator(one.structures, case.shape).flatten(1)
                assert affine_rank(case.penalised(columns)) + 1 == len(one.weights)
            plain = sparsemap(case.scores, self.structure, solver=solver)
            found, wanted = (case.penalised(p.marginals.flatten(1)) for p in (post, plain))
            torch.testing.assert_close(found, wanted, rtol=0, atol=1e-7)

    def test_canonical_weights_are_found(self) -> None:
        for solver in self.solvers:
            scores = draw_scores("normal", 20, self.shape(self.sizes[1]), seed=3)
            post = self._canonical(scores, solver)
            missing = 1 - float(post.canonical.double().mean())
            assert missing <= self.without_canonical
            assert not sparsemap(scores, self.structure, solver=solver).canonical.any()

    @few
    @given(st.data())
    def test_canonical_weights_are_the_same_for_all(self, data: st.DataObject) -> None:
        """Equal for all solvers, alone or in a batch, in any order."""
        case = self.draw(data, kinds=["normal", "forbidden"], batch=3)
        posts = [self._canonical(case.scores, solver) for solver in self.solvers]
        assume(all(post.canonical.all() for post in posts))
        for b in range(3):
            first, *others = (self._measure(post[b], case.shape) for post in posts)
            assert all(_distance(first, other) < 1e-8 for other in others)
        for post, solver in zip(posts, self.solvers, strict=True):
            flipped = self._canonical(case.scores.flip(0), solver)
            alone = self._canonical(case.scores[:1], solver)
            assert torch.equal(alone[0].weights, post[0].weights)
            for b in range(3):
                assert torch.equal(flipped[b].weights, post[2 - b].weights)
                assert torch.equal(flipped[b].structures, post[2 - b].structures)

    @few
    @given(st.data())
    def test_canonical_weights_do_not_see_padding(self, data: st.DataObject) -> None:
        if not self.has_lengths:
            pytest.skip("all instances of this structure have the same size")
        case = self.draw(data, kinds=["normal", "forbidden"])
        n = case.size
        corner = (slice(None), *(slice(0, k) for k in self.shape(n)))
        padded = torch.full((len(case.scores), *self.shape(n + 2)), torch.nan).double()
        padded[corner] = case.scores
        lengths = self.lengths(*[n] * len(padded))
        for solver in self.solvers:
            plain = self._canonical(case.scores, solver)
            post = sparsemap(
                padded, self.structure, lengths=lengths, solver=solver, weights="canonical"
            )
            assert torch.equal(post.canonical, plain.canonical)
            assert torch.equal(post.weights, plain.weights)
            inside = self.structure.indicator(post.structures, self.shape(n + 2))[corner]
            assert torch.equal(inside, self.structure.indicator(plain.structures, case.shape))

    @settings(kit_settings, max_examples=2)
    @given(seed=st.integers(0, 2**32 - 1))
    def test_canonical_weights_have_no_jumps(self, seed: int) -> None:
        """Along a line through scores, halve the step with the largest change 25 times."""
        n = self.largest(300)
        start, other = draw_scores("normal", 2, self.shape(n), seed)
        if self.structure.penalised(start[None]) is not None:
            pytest.skip("parts without a penalty: their marginals jump where they are not unique")
        for solver in self.solvers:

            def at(*places: float, solver: Solver = solver) -> list[tuple[float, Measure]]:
                scores = torch.stack([start + place * other for place in places])
                post = self._canonical(scores, solver)
                assume(post.canonical.all())
                found = [self._measure(one, self.shape(n)) for one in post]
                return list(zip(places, found, strict=True))

            def change(step: tuple[tuple[float, Measure], tuple[float, Measure]]) -> float:
                return _distance(step[0][1], step[1][1])

            step = max(pairwise(at(*(0.05 * k for k in range(9)))), key=change)
            first = change(step)
            for _ in range(25):
                a, b = step
                (middle,) = at((a[0] + b[0]) / 2)
                step = max((a, middle), (middle, b), key=change)
            assert change(step) <= 1e-2 * first + 1e-9

    @settings(kit_settings, max_examples=3)
    @given(st.data())
    def test_derivatives_of_canonical_weights(self, data: st.DataObject) -> None:
        case = self.draw(data, kinds=["normal"], batch=8, largest=3)
        for solver in self.solvers:
            post = self._canonical(case.scores, solver)
            rows = self.smooth(post, case)[0] & post.canonical
            assume(rows.any())
            # If the support has fewer structures than the face, the weights are not unique.
            most = int(torch.where(rows, post.sizes, 0).argmax())
            scores = case.scores[most : most + 1]
            self.check_derivatives(scores, "weights", solver, weights="canonical")

    def _canonical(self, scores: Tensor, solver: Solver) -> SparsePosterior:
        return sparsemap(scores, self.structure, solver=solver, weights="canonical")

    def _measure(self, one: SparsePosterior, shape: tuple[int, ...]) -> Measure:
        parts = self.structure.indicator(one.structures, shape).flatten(1)
        return dict(zip(map(tuple, parts.tolist()), one.weights.tolist(), strict=True))


def _distance(a: Measure, b: Measure) -> float:
    """`sum_h |a(h) - b(h)|`."""
    return sum(abs(a.get(h, 0.0) - b.get(h, 0.0)) for h in a.keys() | b.keys())
