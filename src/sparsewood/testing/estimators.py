"""Tests that every estimator must pass."""

import copy
import pickle
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from sparsewood.estimators.base import Estimator
from sparsewood.estimators.given import Given
from sparsewood.posterior import Posterior
from sparsewood.soft_posterior import SoftPosterior
from sparsewood.structures.base import Structure
from sparsewood.structures.dependency import DependencyTrees
from sparsewood.testing.scores import draw_scores


class EstimatorConformance:
    """Tests of an estimator on a batch of three instances, one of them of full size.

    Attributes:
        estimator: the estimator to check.
        structure, shape, lengths: the family and the instances of the checks.
        exact: whether the gradient of the marginals is their derivative.
    """

    estimator: Estimator
    structure: Structure = DependencyTrees()
    shape: tuple[int, ...] = (4, 5)
    lengths: Tensor = torch.tensor([4, 2, 3])
    exact: ClassVar[bool] = True

    def scores(self, seed: int = 0) -> Tensor:
        """(3, *parts) float64."""
        return draw_scores("normal", 3, self.shape, seed)

    def posterior(self, scores: Tensor, lengths: Tensor | None = None, seed: int = 0) -> Posterior:
        """The estimator's posterior for the scores, with `lengths` or the lengths of the class."""
        generator = torch.Generator(scores.device).manual_seed(seed)
        lengths = self.lengths if lengths is None else lengths
        return self.estimator(scores, self.structure, lengths, generator=generator)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
    def test_a_distribution_over_members(self, dtype: torch.dtype) -> None:
        scores = self.scores().to(dtype)
        before = scores.clone()
        post = self.posterior(scores)
        assert torch.equal(scores, before)
        assert post.weights.dtype == post.parts.dtype == post.marginals.dtype == dtype
        assert post.weights.device == scores.device
        assert (post.weights >= 0).all()
        one = post.expect(torch.ones(len(post.weights), dtype=torch.float64))
        torch.testing.assert_close(one, one.new_ones(3), rtol=0, atol=2 * torch.finfo(dtype).eps)
        assert post.sizes.shape == (3,)
        assert torch.equal(post.instance, torch.arange(3).repeat_interleave(post.sizes))
        assert post.parts.shape == (len(post.weights), *self.shape)
        assert post.mode.shape[0] == len(post) == 3
        assert post.structure.contains(post.mode, self.shape, self.lengths).all()
        if not isinstance(post, SoftPosterior):
            assert post.structures.dtype == torch.int64
            lengths = self.lengths[post.instance]
            assert post.structure.contains(post.structures, self.shape, lengths).all()
            used = post.structure.indicator(post.structures, self.shape)
            assert torch.equal(post.parts.detach().double(), used)

    def test_marginals_are_the_expectation_of_parts(self) -> None:
        post = self.posterior(self.scores())
        torch.testing.assert_close(post.expect(post.parts), post.marginals, rtol=0, atol=1e-12)
        unread = ~self.structure.reads(self.scores(), self.lengths)
        assert not post.marginals[unread].any()

    def test_padding_is_never_read(self) -> None:
        scores = self.scores()
        unread = ~self.structure.reads(scores, self.lengths)
        dirty = scores.masked_fill(unread, torch.nan).requires_grad_()
        found, expected = self.posterior(dirty).marginals, self.posterior(scores).marginals
        torch.testing.assert_close(found.detach(), expected)
        if found.requires_grad:
            (slope,) = torch.autograd.grad(found.square().sum(), dirty)
            assert slope.isfinite().all()
            assert not slope[unread].any()

    def test_an_instance_does_not_depend_on_the_others(self) -> None:
        if isinstance(self.estimator, Given):
            pytest.skip("structures that are given come for the whole batch")
        if self.estimator.is_random:
            pytest.skip("random numbers are drawn for the whole batch")
        scores = self.scores()
        whole = self.posterior(scores)
        for i in range(3):
            alone = self.posterior(scores[i : i + 1], self.lengths[i : i + 1])
            torch.testing.assert_close(whole[i].marginals, alone.marginals)
            assert torch.equal(whole[i].mode, alone.mode)

    def test_the_gradient_is_the_derivative(self) -> None:
        scores = self.scores(seed=1).requires_grad_()
        post = self.posterior(scores)
        if self.estimator.gradient_through == "none":
            assert not post.marginals.requires_grad
            return
        assert post.carries_parts == (self.estimator.gradient_through == "parts")
        slope = torch.randn(post.parts.shape, generator=torch.Generator().manual_seed(0)).to(scores)
        value = post.expect((slope * post.parts).flatten(1).sum(-1)).sum()
        assert torch.autograd.grad(value, scores)[0].any()
        if self.exact:
            assert torch.autograd.gradcheck(lambda x: self.posterior(x).marginals, (scores,))

    def test_the_same_generator_gives_the_same_answer(self) -> None:
        one, two = self.posterior(self.scores(), seed=3), self.posterior(self.scores(), seed=3)
        assert torch.equal(one.marginals, two.marginals)
        assert torch.equal(one.weights, two.weights)

    def test_any_batch_dimensions(self) -> None:
        if isinstance(self.estimator, Given):
            pytest.skip("structures that are given come for the whole batch")
        if self.estimator.is_random:
            pytest.skip("random numbers are drawn for the whole batch")
        scores = self.scores()
        whole = self.posterior(scores)
        for batch in ((3, 1), (1, 3)):
            lengths = self.lengths.reshape(*batch, *self.lengths.shape[1:])
            deep = self.posterior(scores.reshape(*batch, *self.shape), lengths)
            assert deep.sizes.shape == batch
            assert torch.equal(deep.weights, whole.weights)
            for name in ("marginals", "mode", "lengths"):
                wanted = getattr(whole, name)
                assert torch.equal(getattr(deep, name), wanted.reshape(*batch, *wanted.shape[1:]))
        alone = self.posterior(scores[0], self.lengths[0])
        assert alone.sizes.shape == ()
        if self.estimator.is_random:
            return
        torch.testing.assert_close(alone.marginals, whole.marginals[0])

    def test_no_instances(self) -> None:
        if isinstance(self.estimator, Given):
            pytest.skip("structures that are given come for the whole batch")
        none = self.posterior(self.scores()[:0], self.lengths[:0])
        assert len(none) == 0
        assert none.marginals.shape == (0, *self.shape)
        assert none.expect(none.weights).shape == (0,)

    def test_it_is_a_value(self) -> None:
        assert self.estimator == copy.copy(self.estimator)
        assert hash(self.estimator) == hash(copy.copy(self.estimator))
        assert isinstance(self.estimator.at_test(), Estimator)
        assert not self.estimator.at_test().is_random
        again = pickle.loads(pickle.dumps(self.estimator))
        assert repr(again) == repr(self.estimator)
        with pytest.raises(AttributeError):
            self.estimator.__setattr__("option", 1)
