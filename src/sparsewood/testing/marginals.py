"""Tests of structures with a sum over all structures."""

from functools import partial

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from torch import Tensor
from torch.testing import assert_close

from sparsewood.distribution import StructureDistribution
from sparsewood.inference.marginals import marginals
from sparsewood.testing.instances import Instances, kit_settings
from sparsewood.testing.reference import gains, totals
from sparsewood.testing.scores import draw_scores

_SAMPLES = 2000
_COMMON = tuple(sign * size for size in (1e3, 1e6, 1e8, 1e10, 1e15) for sign in (1, -1))


class MarginalsConformance(Instances):
    """Compares `sparsewood.marginals` with enumeration. Configure as `Instances`."""

    @kit_settings
    @given(st.data())
    def test_sums_over_all_structures(self, data: st.DataObject) -> None:
        case = self.draw(data)
        dist = marginals(case.scores, self.structure)
        scores = totals(case.theta, case.columns)
        log_prob = scores.log_softmax(-1)
        prob = log_prob.exp()
        close = partial(assert_close, rtol=1e-12, atol=1e-10 * max(1.0, _magnitude(case.theta)))
        close(dist.log_partition, scores.logsumexp(-1))
        close(dist.marginals.flatten(1), prob @ case.columns)
        plogp = torch.where(prob > 0, prob * log_prob, 0.0)
        close(dist.entropy(), -plogp.sum(-1))
        assert (dist.marginals[case.scores == -torch.inf] == 0).all()
        assert (dist.marginals.flatten(1)[~case.reads] == 0).all()

        for k in range(0, len(case.everything), len(case.everything) // 10 + 1):
            same = case.everything[k].expand(len(case.scores), *case.everything.shape[1:])
            close(dist.log_prob(same), log_prob[:, k])
        best = totals(case.theta, self._columns(dist.mode, case.shape)[:, None])[:, 0]
        assert_close(best, scores.amax(-1), rtol=1e-12, atol=1e-12)

    @kit_settings
    @given(st.data())
    def test_large_scores_in_common_take_no_digits(self, data: st.DataObject) -> None:
        case = self.draw(data, kinds=("normal", "integers", "forbidden"), largest=3)
        scores = case.scores + data.draw(st.sampled_from(_COMMON))
        dist = marginals(scores, self.structure)
        gain, best = gains(scores.flatten(1), case.columns)
        log_prob = gain.log_softmax(-1)
        prob = log_prob.exp()
        close = partial(assert_close, rtol=1e-11, atol=1e-11)
        close(dist.log_partition, best + gain.logsumexp(-1))
        close(dist.marginals.flatten(1), prob @ case.columns)
        close(dist.entropy(), -torch.where(prob > 0, prob * log_prob, 0.0).sum(-1))
        for k in range(0, len(case.everything), len(case.everything) // 10 + 1):
            same = case.everything[k].expand(len(scores), *case.everything.shape[1:])
            close(dist.log_prob(same), log_prob[:, k])
        assert (dist.kl(dist) == 0).all()

    @kit_settings
    @given(st.data())
    def test_sums_exist_where_a_structure_is_left(self, data: st.DataObject) -> None:
        case = self.draw(data, kinds=("normal", "integers"), batch=3)
        generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**32 - 1)))
        spread = torch.rand(case.scores.shape, generator=generator)
        scores = torch.where(spread < data.draw(st.floats(0, 1)), case.scores, -torch.inf)
        scores -= 700.0 * (torch.rand(scores.shape, generator=generator) < 0.3)
        each = totals(scores.flatten(1), case.columns)
        left = each.amax(-1) > -torch.inf
        if not left.all():
            with pytest.raises(ValueError, match=rf"instance {int((~left).nonzero()[0])} has no"):
                marginals(scores, self.structure)
        scores, each = scores[left], each[left]
        dist = marginals(scores, self.structure)
        close = partial(assert_close, rtol=1e-12, atol=1e-9)
        close(dist.log_partition, each.logsumexp(-1))
        close(dist.marginals.flatten(1), each.softmax(-1) @ case.columns)
        for drawn in dist.sample(3, generator=generator):
            assert (dist.log_prob(drawn) > -torch.inf).all()

    def test_sums_have_derivatives(self) -> None:
        n = min(self.sizes[1], max(self.sizes[0], 3))
        scores = draw_scores("normal", 2, self.shape(n), seed=3)
        used = self._columns(marginals(scores, self.structure).mode, self.shape(n))
        spare = (used == 0) & (self.structure.reads(scores).flatten(1))
        scores.flatten(1)[spare & (scores.flatten(1) < -1)] = -torch.inf
        temperature = torch.tensor([0.8, 1.5], dtype=torch.float64, requires_grad=True)
        free = (scores > -torch.inf).nonzero(as_tuple=True)
        inputs = (scores[free].requires_grad_(), temperature)

        def infer(values: Tensor, temperature: Tensor) -> tuple[Tensor, ...]:
            table = scores.index_put(free, values)
            dist = marginals(table, self.structure, temperature=temperature)
            return dist.log_partition, dist.marginals, dist.entropy()

        assert torch.autograd.gradcheck(infer, inputs)
        assert torch.autograd.gradgradcheck(infer, inputs, fast_mode=True)

    def test_sums_of_any_batch_dimensions(self) -> None:
        if self.structure.parts_ndim is None:
            pytest.skip("the structure does not define parts_ndim")
        flat = draw_scores("normal", 6, self.shape(self.sizes[1]), seed=7)
        dist = marginals(flat, self.structure)
        deep = marginals(flat.reshape(2, 3, *flat.shape[1:]), self.structure)
        one = marginals(flat[4], self.structure)
        for name in ("log_partition", "marginals", "mode"):
            wanted = getattr(dist, name)
            assert torch.equal(getattr(deep, name), wanted.reshape(2, 3, *wanted.shape[1:]))
            assert_close(getattr(one, name), wanted[4], rtol=0, atol=1e-12)
        assert torch.equal(deep.entropy(), dist.entropy().reshape(2, 3))
        assert torch.equal(deep.log_prob(deep.mode), dist.log_prob(dist.mode).reshape(2, 3))
        draws = [d.sample(3, generator=torch.Generator().manual_seed(0)) for d in (deep, dist)]
        assert torch.equal(draws[0], draws[1].reshape(draws[0].shape))
        assert draws[0].shape[:3] == (3, 2, 3)

    def test_sums_need_no_graph(self) -> None:
        scores = draw_scores("normal", 2, self.shape(self.sizes[1]), seed=0)
        plain = marginals(scores, self.structure)
        assert not plain.marginals.requires_grad
        assert not plain.log_partition.requires_grad
        scores.requires_grad_()
        with torch.no_grad():
            inside = marginals(scores, self.structure)
            assert not inside.marginals.requires_grad
        graph = marginals(scores, self.structure)
        for dist in (inside, graph):
            assert_close(dist.marginals, plain.marginals, rtol=0, atol=1e-12)
            assert_close(dist.entropy(), plain.entropy(), rtol=0, atol=1e-12)
        (gradient,) = torch.autograd.grad(graph.log_partition.sum(), scores)
        assert_close(gradient, plain.marginals, rtol=0, atol=1e-12)

    def test_samples_follow_the_distribution(self) -> None:
        """A chi-square statistic must be within five standard deviations of its mean."""
        n = self.largest(60)
        everything = self.structure.enumerate(*self.size(n))
        columns = self._columns(everything, self.shape(n))
        for kind in ("normal", "forbidden"):
            scores = draw_scores(kind, 2, self.shape(n), seed=1)
            scores[totals(scores.flatten(1), columns).amax(-1) == -torch.inf] = 0.0
            dist = marginals(scores, self.structure)
            drawn = dist.sample(_SAMPLES, generator=torch.Generator().manual_seed(0))
            assert drawn.shape == (_SAMPLES, 2, *everything.shape[1:])
            assert drawn.dtype == torch.int64
            prob = totals(scores.flatten(1), columns).softmax(-1)
            for b in range(2):
                same = (drawn[:, b, None] == everything).reshape(_SAMPLES, len(everything), -1)
                found = same.all(-1).double().sum(0)
                assert found.sum() == _SAMPLES
                _check_frequencies(found, prob[b] * _SAMPLES)

    def test_samples_repeat_with_the_generator(self) -> None:
        scores = draw_scores("normal", 2, self.shape(self.sizes[1]), seed=1)
        dist = marginals(scores, self.structure)
        draws = [dist.sample(5, generator=torch.Generator().manual_seed(7)) for _ in range(2)]
        assert torch.equal(*draws)
        with pytest.raises(ValueError, match="at least 1"):
            dist.sample(0)

    def test_divergence(self) -> None:
        n = self.sizes[1]
        columns = self._columns(self.structure.enumerate(*self.size(n)), self.shape(n))
        scores = draw_scores("normal", 4, self.shape(n), seed=5)
        p, q = (marginals(half, self.structure) for half in (scores[:2], scores[2:]))
        log_prob = totals(scores.flatten(1), columns).log_softmax(-1)
        expected = (log_prob[:2].exp() * (log_prob[:2] - log_prob[2:])).sum(-1)
        assert_close(p.kl(q), expected, rtol=0, atol=1e-10)
        assert_close(p.kl(p), torch.zeros(2).double(), rtol=0, atol=1e-10)

    def test_sums_do_not_read_padding(self) -> None:
        if not self.has_lengths:
            pytest.skip("all instances of this structure have the same size")
        sizes = [self.sizes[1], self.sizes[0], max(self.sizes[0], self.sizes[1] - 1)]
        scores = draw_scores("normal", 3, self.shape(self.sizes[1]), seed=2)
        lengths = self.lengths(*sizes)
        reads = self.structure.reads(scores, lengths)
        scores = scores.masked_fill(~reads, torch.nan).requires_grad_()
        temperature = torch.ones(3, dtype=torch.float64, requires_grad=True)
        dist = marginals(scores, self.structure, lengths=lengths, temperature=temperature)
        close = partial(assert_close, rtol=0, atol=1e-10)
        for b, n in enumerate(sizes):
            corner = (slice(b, b + 1), *(slice(0, k) for k in self.shape(n)))
            alone = marginals(scores[corner].detach(), self.structure)
            close(dist.marginals[corner], alone.marginals)
            close(dist.log_partition[b], alone.log_partition[0])
        assert (dist.marginals[~reads] == 0).all()
        loss = dist.marginals.square().sum() + dist.entropy().sum() + dist.log_partition.sum()
        by_scores, by_temperature = torch.autograd.grad(loss, (scores, temperature))
        assert (by_scores[~reads] == 0).all()
        assert by_scores.isfinite().all()
        assert by_temperature.isfinite().all()
        drawn = dist.sample(3, generator=torch.Generator().manual_seed(0))
        repeated = lengths.repeat(3, *[1] * (lengths.ndim - 1))
        shape = tuple(scores.shape[1:])
        assert self.structure.contains(drawn.flatten(0, 1), shape, repeated).all()

    def test_sums_follow_the_dtype(self) -> None:
        for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
            scores = draw_scores("normal", 2, self.shape(self.sizes[1]), seed=0).to(dtype)
            before = scores.clone()
            dist = marginals(scores, self.structure)
            exact = marginals(scores.double(), self.structure)
            for name in ("log_partition", "marginals"):
                assert getattr(dist, name).dtype == dtype
                assert torch.equal(getattr(dist, name), getattr(exact, name).to(dtype))
            assert dist.entropy().dtype == dist.log_prob(dist.mode).dtype == dtype
            assert torch.equal(scores, before)

    def test_bad_scores_are_named_by_sums(self) -> None:
        good = draw_scores("normal", 3, self.shape(self.sizes[1]), seed=0)
        part = tuple(self.structure.reads(good)[1].nonzero()[-1].tolist())
        for value in (torch.nan, torch.inf):
            bad = good.clone()
            bad[(1, *part)] = value
            with pytest.raises(ValueError, match=r"instance 1\b"):
                marginals(bad, self.structure)
        empty = good.clone()
        empty[2] = -torch.inf
        if self.has_empty:
            assert (marginals(empty, self.structure).marginals[2] == 0).all()
        else:
            with pytest.raises(ValueError, match=r"instance 2\b"):
                marginals(empty, self.structure)

    def test_sums_over_an_empty_batch(self) -> None:
        scores = draw_scores("normal", 0, self.shape(self.sizes[1]), seed=0)
        dist = marginals(scores, self.structure)
        assert isinstance(dist, StructureDistribution)
        assert len(dist) == len(dist.log_partition) == len(dist.mode) == len(dist.entropy()) == 0
        assert dist.marginals.shape == scores.shape
        assert dist.sample(2).shape == (2, *dist.mode.shape)

    def _columns(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        return self.structure.indicator(structures, shape).flatten(1)


def _magnitude(theta: Tensor) -> float:
    return float(torch.where(theta.isfinite(), theta.abs(), 0.0).max())


def _check_frequencies(found: Tensor, expected: Tensor) -> None:
    """Chi-square test of counts (K,); outcomes expected fewer than five times are merged."""
    assert (found[expected == 0] == 0).all()
    often = expected >= 5
    found = torch.cat([found[often], found[~often].sum()[None]])
    expected = torch.cat([expected[often], expected[~often].sum()[None]])
    found, expected = found[expected > 0], expected[expected > 0]
    statistic = float(((found - expected).square() / expected).sum())
    freedom = max(len(expected) - 1, 1)
    assert statistic <= freedom + 5 * (2 * freedom) ** 0.5, (statistic, freedom)
