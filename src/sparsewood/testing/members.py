"""Tests of membership and of the k best structures."""

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

from sparsewood.structures._members import parts_of_members
from sparsewood.testing.devices import kbest
from sparsewood.testing.instances import Instances, kit_settings
from sparsewood.testing.reference import members, totals

few = settings(kit_settings, max_examples=5)


class MembersConformance(Instances):
    """The members of a structure, and the k best. Configure as `Instances`."""

    def test_members_are_told_by_their_parts(self) -> None:
        """`contains` accepts them, and `decode` reconstructs them."""
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
        self._skip_without_kbest()
        case = self.draw(data)
        k = data.draw(st.integers(1, 12))
        ranked = totals(case.theta, case.columns).sort(-1, descending=True).values
        best = kbest(case.scores, self.structure, k)
        shown = min(k, len(case.everything))
        scale = torch.where(case.theta.isfinite(), case.theta.abs(), 0).amax()
        torch.testing.assert_close(
            best.scores[:, :shown], ranked[:, :shown], rtol=1e-12, atol=1e-12 * float(1 + scale)
        )
        assert (best.scores[:, shown:] == -torch.inf).all()

    def test_the_best_are_all_structures_once(self) -> None:
        """Entries beyond them repeat the last. Fails if `fix` of a native family keeps more or
        fewer structures than those that choose an option."""
        self._skip_without_kbest()
        n = self.largest(300)
        everything = self.structure.enumerate(*self.size(n))
        columns = self.structure.indicator(everything, self.shape(n)).flatten(1)
        for kind in ("normal", "equal", "integers", "forbidden"):
            scores = self.draw_scores(kind, 2, self.shape(n), seed=1)
            each = totals(scores.flatten(1), columns)
            scores[each.amax(-1) == -torch.inf] = 0.0
            each = totals(scores.flatten(1), columns)
            best = kbest(scores, self.structure, len(everything) + 2)
            for b, found in enumerate((best.scores > -torch.inf).sum(-1).tolist()):
                allowed = everything[each[b] > -torch.inf]
                assert found == len(allowed)
                there = best.structures[b, :found]
                assert torch.equal(there.unique(dim=0), allowed.unique(dim=0))
                assert (best.scores[b, :found].diff() <= 1e-12).all()
                assert (best.structures[b, found:] == there[-1]).all()

    def _skip_without_kbest(self) -> None:
        if not self.structure.has_kbest:
            pytest.skip("the structure has no k-best algorithm")
