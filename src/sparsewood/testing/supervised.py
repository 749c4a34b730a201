"""What a structure has to satisfy where gold structures are given: members, the k best, losses."""

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from sparsewood._members import parts_of_members
from sparsewood.inference.hinge_loss import hinge_loss
from sparsewood.inference.kbest import kbest
from sparsewood.inference.perceptron_loss import perceptron_loss
from sparsewood.inference.sparsemap_loss import sparsemap_loss
from sparsewood.structures.base import NativeStructure
from sparsewood.testing.instances import Instances, kit_settings
from sparsewood.testing.reference import members, totals
from sparsewood.testing.scores import draw_scores

few = settings(kit_settings, max_examples=5)


class SupervisedConformance(Instances):
    """The members of a structure, the best of them, and losses. Set what `Instances` asks for."""

    def test_members_are_told_by_their_parts(self) -> None:
        """`contains` knows them, and `decode` finds them again."""
        n = self.sizes[1]
        everything = self.structure.enumerate(*self.size(n))
        parts = self.structure.indicator(everything, self.shape(n))
        assert torch.equal(self.structure.decode(parts), everything)
        assert self.structure.contains(everything, self.shape(n)).all()
        scores = torch.zeros(len(everything), *self.shape(n), dtype=torch.float64)
        found, member = parts_of_members(everything, self.structure, scores, None)
        assert member.all()
        assert torch.equal(found, parts)

    def test_mixtures_of_members_are_told_from_members(self) -> None:
        n = self.sizes[1]
        everything = self.structure.enumerate(*self.size(n))
        generator = torch.Generator().manual_seed(0)
        one, other = (
            everything[torch.randint(len(everything), (50,), generator=generator)] for _ in range(2)
        )
        mixed = torch.where(torch.rand(one.shape, generator=generator) < 0.5, one, other)
        scores = torch.zeros(len(mixed), *self.shape(n), dtype=torch.float64)
        member = parts_of_members(mixed, self.structure, scores, None)[1]
        assert torch.equal(member, members(mixed, everything))

    @few
    @given(st.data())
    def test_the_best_come_in_order(self, data: st.DataObject) -> None:
        if not isinstance(self.structure, NativeStructure):
            pytest.skip("no k-best algorithm is known for structures written in Python")
        case = self.draw(data)
        k = data.draw(st.integers(1, 8))
        ranked = totals(case.theta, case.columns).sort(-1, descending=True).values
        best = kbest(case.scores, self.structure, k)
        shown = min(k, len(case.everything))
        scale = torch.where(case.theta.isfinite(), case.theta.abs(), 0).amax()
        torch.testing.assert_close(
            best.scores[:, :shown], ranked[:, :shown], rtol=1e-12, atol=1e-12 * float(1 + scale)
        )
        assert (best.scores[:, shown:] == -torch.inf).all()
        for structures, values in zip(best.structures, best.scores, strict=True):
            there = structures[values > -torch.inf]
            assert members(there, case.everything).all()
            assert len(there.unique(dim=0)) == len(there)

    @few
    @given(st.data())
    def test_losses(self, data: st.DataObject) -> None:
        """At least 0, the formulas over all structures, and 0 for the scores 2 g - 1."""
        case = self.draw(data, kinds=["normal", "integers", "equal"])
        pick = torch.tensor([data.draw(st.integers(0, len(case.columns) - 1)) for _ in case.scores])
        gold, g = case.everything[pick], case.columns[pick]
        scores = totals(case.theta, case.columns)
        own = scores.gather(1, pick[:, None]).squeeze(1)
        missed = case.columns @ (1 - g).T  # (count, B): parts that are not in the gold structure
        expected = {
            perceptron_loss: scores.amax(-1) - own,
            hinge_loss: (scores + missed.T).amax(-1) - own,
        }
        for loss, value in expected.items():
            found = loss(case.scores, gold, self.structure, reduction="none")
            torch.testing.assert_close(found, value, rtol=1e-12, atol=1e-12)
        assert (sparsemap_loss(case.scores, gold, self.structure, reduction="none") >= -1e-9).all()
        certain = (2 * g - 1).reshape(case.scores.shape)
        for loss in (perceptron_loss, hinge_loss, sparsemap_loss):
            zero = loss(certain, gold, self.structure, reduction="none")
            torch.testing.assert_close(zero, torch.zeros_like(own), rtol=0, atol=1e-12)

    def test_losses_have_derivatives(self) -> None:
        n = min(self.sizes[1], max(self.sizes[0], 3))
        scores = draw_scores("normal", 2, self.shape(n), seed=4).requires_grad_()
        everything = self.structure.enumerate(*self.size(n))
        gold = everything[[0, len(everything) // 2]]

        def loss(scores: Tensor) -> Tensor:
            return sparsemap_loss(scores, gold, self.structure, margin=0.5, reduction="none")

        assert torch.autograd.gradcheck(loss, scores, fast_mode=True)
