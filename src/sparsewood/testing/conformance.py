"""Tests that every structure must pass."""

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import assume, given, settings

from sparsewood.sparse_posterior import SparsePosterior
from sparsewood.testing.batched import BatchConformance
from sparsewood.testing.canonical import CanonicalConformance
from sparsewood.testing.devices import sparsemap
from sparsewood.testing.instances import kit_settings
from sparsewood.testing.losses import LossConformance
from sparsewood.testing.members import MembersConformance
from sparsewood.testing.reference import members, project, totals
from sparsewood.testing.scores import KINDS


class StructureConformance(
    CanonicalConformance, MembersConformance, LossConformance, BatchConformance
):
    """Tests of a structure, its oracle, SparseMAP and losses. Configure as `Instances`."""

    def test_enumerate_lists_each_structure_once(self) -> None:
        for n in range(self.sizes[0], self.sizes[1] + 1):
            everything = self.structure.enumerate(*self.size(n))
            assert len(everything) == self.structure.count(*self.size(n))
            assert len(everything.unique(dim=0)) == len(everything)
            parts = self.structure.indicator(everything, self.shape(n))
            assert parts.shape == (len(everything), *self.shape(n))
            assert parts.dtype == torch.float64
            if self.structure.binary:
                assert ((parts == 0) | (parts == 1)).all()
            assert parts.isfinite().all()

    @kit_settings
    @given(st.data())
    def test_oracle_finds_the_best(self, data: st.DataObject) -> None:
        case = self.draw(data)
        best = self.structure.argmax(case.scores)
        assert best.dtype == torch.int64
        assert members(best, case.everything).all()
        parts = self.structure.indicator(best, case.shape).flatten(1)
        found = totals(case.theta, parts[:, None])[:, 0]
        highest = totals(case.theta, case.columns).amax(-1)
        torch.testing.assert_close(found, highest, rtol=1e-12, atol=1e-12)

    @kit_settings
    @given(st.data())
    def test_marginals_are_the_projection(self, data: st.DataObject) -> None:
        case = self.draw(data, kinds=[kind for kind in KINDS if kind != "large"])
        if self.structure.penalised(case.scores) is not None:
            pytest.skip("parts without a penalty: the certificate alone says what is optimal")
        for solver in self.solvers:
            post = sparsemap(case.scores, self.structure, tol=0.0, solver=solver)
            for theta, u in zip(case.theta, post.marginals.flatten(1), strict=True):
                allowed = theta.isfinite()
                usable = case.columns[(case.columns[:, ~allowed] == 0).all(-1)]
                nearest = project(torch.where(allowed, theta, 0), usable)
                torch.testing.assert_close(u, nearest, rtol=0, atol=1e-7)

    @kit_settings
    @given(st.data())
    def test_certificate_and_consistency(self, data: st.DataObject) -> None:
        case = self.draw(data)
        for solver in self.solvers:
            post = sparsemap(case.scores, self.structure, solver=solver)
            self.check_posterior(post, case)

    @settings(kit_settings, max_examples=4)
    @given(st.data())
    def test_derivatives(self, data: st.DataObject) -> None:
        case = self.draw(data, kinds=["normal"], batch=8, largest=3)
        posts = [sparsemap(case.scores, self.structure, solver=name) for name in self.solvers]
        found = [self.smooth(post, case) for post in posts]
        assume(all(rows.any() for masks in found for rows in masks))
        for solver, (smooth, unique) in zip(self.solvers, found, strict=True):
            self.check_derivatives(case.scores[smooth][:1], "marginals", solver)
            self.check_derivatives(case.scores[unique][:1], "weights", solver)

    @kit_settings
    @given(st.data())
    def test_instances_do_not_see_each_other(self, data: st.DataObject) -> None:
        case = self.draw(data, batch=4)
        order = torch.tensor(data.draw(st.permutations(range(4))))
        for solver in self.solvers:
            post = sparsemap(case.scores, self.structure, solver=solver)
            shuffled = sparsemap(case.scores[order], self.structure, solver=solver)
            for k, b in enumerate(order.tolist()):
                _check_same(post[b], shuffled[k])
            first = order[:1]
            alone = sparsemap(case.scores[first], self.structure, solver=solver)
            _check_same(post[int(first)], alone)

    @kit_settings
    @given(st.data())
    def test_padding_is_never_read(self, data: st.DataObject) -> None:
        if not self.has_lengths:
            pytest.skip("all instances of this structure have the same size")
        case = self.draw(data)
        n, larger = case.size, case.size + data.draw(st.integers(1, 3))
        corner = (slice(None), *(slice(0, k) for k in self.shape(n)))
        padded = torch.full((len(case.scores), *self.shape(larger)), torch.nan).double()
        padded[corner] = case.scores.masked_fill(~case.reads.reshape(case.scores.shape), torch.nan)
        zeros = padded.nan_to_num(nan=0.0, neginf=-torch.inf)
        lengths = self.lengths(*[n] * len(padded))
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
                _check_same(post[b], plain[b], corner)

    def test_padding_has_no_gradient(self) -> None:
        if not self.has_lengths:
            pytest.skip("all instances of this structure have the same size")
        n = self.sizes[1]
        scores = self.draw_scores("normal", 2, self.shape(n), seed=0)
        lengths = self.lengths(n, max(n - 1, self.sizes[0]))
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
            scores = self.draw_scores("normal", 2, self.shape(self.sizes[1]), seed=0).to(dtype)
            before = scores.clone()
            for solver in self.solvers:
                post = sparsemap(scores, self.structure, solver=solver)
                assert post.weights.dtype == post.marginals.dtype == dtype
                assert post.gap.dtype == torch.float64
                assert torch.equal(scores, before)
                exact = sparsemap(scores.double(), self.structure, solver=solver)
                assert torch.equal(post.marginals, exact.marginals.to(dtype))

    def test_bad_scores_are_named(self) -> None:
        good = self.draw_scores("normal", 3, self.shape(self.sizes[1]), seed=0)
        part = tuple(self.structure.reads(good)[1].nonzero()[-1].tolist())
        for solver in self.solvers:
            for value in (torch.nan, torch.inf):
                bad = good.clone()
                bad[(1, *part)] = value
                with pytest.raises(ValueError, match=r"\b1\b"):
                    sparsemap(bad, self.structure, solver=solver)
            empty = good.clone()
            empty[2] = -torch.inf
            if self.has_empty:
                assert (sparsemap(empty, self.structure, solver=solver).marginals[2] == 0).all()
            else:
                with pytest.raises(ValueError, match=r"\b2\b"):
                    sparsemap(empty, self.structure, solver=solver)
            one_batch = self.structure.parts_ndim is None  # else any number is valid
            for bad in (good.long(), *([good[0], good[:, None]] if one_batch else [good[0, 0]])):
                with pytest.raises(ValueError, match="scores|expected"):
                    sparsemap(bad, self.structure, solver=solver)

    def test_bad_lengths_are_named(self) -> None:
        if not self.has_lengths:
            pytest.skip("all instances of this structure have the same size")
        n = self.sizes[1]
        scores = self.draw_scores("normal", 3, self.shape(n), seed=0)
        good = self.lengths(n, n, n)
        bad_lengths = [good.double(), good[:2], good[:, None], good.clone(), good.clone()]
        bad_lengths[-2][1] = 0
        bad_lengths[-1][1] += 1
        for solver in self.solvers:
            for bad in bad_lengths:
                with pytest.raises(ValueError, match="lengths"):
                    sparsemap(scores, self.structure, lengths=bad, solver=solver)

    def test_empty_batch(self) -> None:
        scores = self.draw_scores("normal", 0, self.shape(self.sizes[1]), seed=0)
        for solver in self.solvers:
            post = sparsemap(scores, self.structure, solver=solver)
            assert len(post) == len(post.weights) == len(post.structures) == 0
            assert post.marginals.shape == scores.shape
            assert post.mode.shape == post.structures.shape


def _check_same(a: SparsePosterior, b: SparsePosterior, corner: tuple[slice, ...] = ()) -> None:
    """One instance in two batches, compared bit by bit. `corner`: the parts of `b` within `a`."""
    assert torch.equal(a.weights, b.weights)
    assert torch.equal(a.marginals[corner], b.marginals)
    assert torch.equal(a.gap, b.gap)
