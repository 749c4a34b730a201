"""Tests of losses: comparison with their formulas by enumeration, and derivatives."""

from collections.abc import Callable

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch.testing import assert_close

from sparsewood.inference.marginals import marginals
from sparsewood.testing.devices import (
    crf_loss,
    hinge_loss,
    perceptron_loss,
    sparsemap,
    sparsemap_loss,
)
from sparsewood.testing.instances import Case, Instances, kit_settings
from sparsewood.testing.reference import project, totals

few = settings(kit_settings, max_examples=5)
_MARGINS = (0.0, 0.5, 3.0)


class LossConformance(Instances):
    """The four losses of a structure. Configure as `Instances`."""

    @property
    def losses(self) -> tuple[Callable[..., Tensor], ...]:
        """The supported losses: `crf_loss` needs the sum over all structures."""
        if self.structure.costs_only:  # the margin of the hinge loss may make costs positive
            return perceptron_loss, sparsemap_loss
        have = (perceptron_loss, hinge_loss, sparsemap_loss)
        try:
            marginals(
                self.draw_scores("equal", 1, self.shape(self.sizes[0]), seed=0), self.structure
            )
        except ValueError:
            return have
        return (*have, crf_loss)

    @few
    @given(st.data())
    def test_losses_are_their_formulas(self, data: st.DataObject) -> None:
        case = self.draw(data, kinds=["normal", "integers", "equal"])
        pick = torch.tensor([data.draw(st.integers(0, len(case.columns) - 1)) for _ in case.scores])
        # A margin may make costs positive.
        margin = data.draw(st.sampled_from((0.0,) if self.structure.costs_only else _MARGINS))
        gold, g = case.everything[pick], case.columns[pick]
        scores = totals(case.theta, case.columns)
        own = scores.gather(1, pick[:, None]).squeeze(1)
        # Of parts that are not in the gold one; no cost for that itself, also if it has numbers.
        cost = margin * ((1 - g) @ case.columns.T - ((1 - g) * g).sum(-1, keepdim=True))

        def check(loss: Callable[..., Tensor], expected: Tensor, **options: float) -> None:
            found = loss(case.scores, gold, self.structure, reduction="none", **options)
            assert_close(found, expected, rtol=1e-9, atol=1e-9)

        check(perceptron_loss, scores.amax(-1) - own)
        check(hinge_loss, (scores + cost).amax(-1) - own, margin=margin)
        augmented = own + margin * ((1 - g) * g).sum(-1)
        check(sparsemap_loss, self._fenchel_young(case, g, margin) - augmented, margin=margin)
        if crf_loss in self.losses:
            check(crf_loss, scores.logsumexp(-1) - own)

    def _fenchel_young(self, case: Case, g: Tensor, margin: float) -> Tensor:
        """`max_u [<theta', u> - 1/2 ||u||^2] + 1/2 ||g||^2`: (B,)."""
        augmented = case.theta + margin * (1 - g)
        if case.mask is None:
            u = torch.stack([project(theta, case.columns) for theta in augmented])
        else:  # rely on the certificate of optimality
            u = sparsemap(augmented.reshape(case.scores.shape), self.structure).marginals.flatten(1)
        squares = case.penalised(g).square() - case.penalised(u).square()
        return totals(augmented, u[:, None])[:, 0] + squares.sum(-1) / 2

    def test_losses_vanish_where_the_gold_structure_wins(self) -> None:
        n = self.sizes[1]
        everything = self.structure.enumerate(*self.size(n))
        gold = everything[:3]
        certain = 50 * (2 * self.structure.indicator(gold, self.shape(n)) - 1)
        if self.structure.costs_only:
            certain = certain - 50
        if not self.structure.binary:
            found = self._certain(self.structure.indicator(everything, self.shape(n)))
            gold, certain = everything[list(found)], torch.stack(list(found.values()))
        for loss in self.losses:
            zero = loss(certain, gold, self.structure, reduction="none")
            assert_close(zero, torch.zeros_like(zero), rtol=0, atol=1e-9)

    @staticmethod
    def _certain(parts: Tensor) -> dict[int, Tensor]:
        """Up to three structures, by index, and scores (*parts) for which each wins by far.

        They point to a structure from the nearest point of the hull of all others. A structure
        whose parts are a mean of those of others never wins.
        """
        columns, found = parts.flatten(1), {}
        if len(columns) == 1:
            return {0: parts[0]}
        for i, own in enumerate(columns):
            away = own - project(own, torch.cat([columns[:i], columns[i + 1 :]]))
            if away.square().sum() > 1e-12 and len(found) < 3:
                far = 100 * (1 + columns.square().sum(-1).max()) / away.square().sum()
                found[i] = (away * far).reshape(parts.shape[1:])
        return found

    def test_gradients_of_losses_are_parts_less_gold(self) -> None:
        if self.structure.costs_only:
            pytest.skip("a margin may make costs positive")
        n = min(self.sizes[1], max(self.sizes[0], 3))
        scores = self.draw_scores("normal", 2, self.shape(n), seed=4)
        everything = self.structure.enumerate(*self.size(n))
        gold = everything[[0, len(everything) // 2]]
        g = self.structure.indicator(gold, self.shape(n))
        hard = self.structure.indicator(self.structure.argmax(scores), self.shape(n))
        hinged = self.structure.argmax(scores + (1 - g))
        expected = {
            perceptron_loss: hard,
            hinge_loss: self.structure.indicator(hinged, self.shape(n)),
            sparsemap_loss: sparsemap(scores, self.structure).marginals,
        }
        if crf_loss in self.losses:
            expected[crf_loss] = marginals(scores, self.structure).marginals
        for loss, u in expected.items():
            leaf = scores.clone().requires_grad_()
            value = loss(leaf, gold, self.structure, reduction="sum")
            assert_close(torch.autograd.grad(value, leaf)[0], u - g, rtol=0, atol=1e-9)
            assert torch.autograd.gradcheck(
                lambda x, loss=loss: loss(x, gold, self.structure, reduction="none"),
                leaf,
                fast_mode=True,
            )
        for loss in set(self.losses) & {sparsemap_loss, crf_loss}:
            assert torch.autograd.gradgradcheck(
                lambda x, loss=loss: loss(x, gold, self.structure, reduction="none"),
                scores.clone().requires_grad_(),
                fast_mode=True,
            )
