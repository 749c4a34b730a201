"""Instances with a single structure are solved, whatever their scores."""

from typing import Any, Literal

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from tests.full import some_quick


def one_structure() -> list[tuple[sp.Structure, Tensor]]:
    """Instances with a single structure, by their size or by forbidden parts."""
    arcs = torch.full((1, 3, 4), -torch.inf, dtype=torch.float64)
    arcs[0, 0, 0], arcs[0, 1, 1], arcs[0, 2, 1] = 1e12, 1e12 + 5, 1e12 - 7
    segments = torch.full((1, 4, 1, 4), -torch.inf, dtype=torch.float64)
    segments[0, 0, 0, 2], segments[0, 3, 0, 0], segments[0, 1:, 0, 3] = 1e12, 3e12, 1e12
    narrow = torch.tensor([1.0, 1.0 + 1e-13], dtype=torch.float64)
    return [
        (sp.SemiMarkov(3), torch.full((1, 1, 1, 4), 1e12, dtype=torch.float64)),
        (sp.SemiMarkov(3), segments),
        (sp.DependencyTrees(), arcs),
        (sp.LinearChain(), narrow.repeat(3)[None, :, None, None].expand(1, 6, 1, 2)),
        (sp.Alignment(), 1e12 + torch.arange(4.0, dtype=torch.float64)[None, None]),
        (sp.Subset(2), 1e12 + 3 * narrow[None]),
        (sp.BinaryTrees(), 1e12 * torch.ones(1, 2, 2, dtype=torch.float64)),
        (sp.SpanningTrees(), narrow.expand(1, 2, 2)),
    ]


@pytest.mark.parametrize("options", [{}, {"max_support": 1}, {"max_active": 1}], ids=str)
@pytest.mark.parametrize("solver", ["native", "generic"])
@pytest.mark.parametrize(("structure", "scores"), one_structure())
def test_a_single_structure_is_certain(
    structure: sp.Structure, scores: Tensor, solver: Literal["native", "generic"], options: Any
) -> None:
    post = sp.sparsemap(scores, structure, solver=solver, **options)
    assert post.sizes.tolist() == [1]
    assert post.weights.tolist() == pytest.approx([1], rel=1e-15)
    assert post.gap.tolist() == [0]
    assert post.converged.all()


@pytest.mark.parametrize(("structure", "scores"), some_quick(one_structure()))
def test_a_single_structure_is_certain_to_kernels(
    structure: sp.Structure, scores: Tensor, device: torch.device
) -> None:
    post = sp.sparsemap(scores.to(device), structure)
    assert post.gap.tolist() == [0]
    assert post.converged.all()


def test_one_of_several_that_rounding_hides_is_not_certain() -> None:
    """Sums of such scores are rounded to about 1e-4: any segmentation may be the best."""
    scores = torch.full((1, 2, 1, 4), 1e12, dtype=torch.float64)
    scores += torch.rand(scores.shape, dtype=scores.dtype, generator=torch.manual_seed(0))
    post = sp.sparsemap(scores, sp.SemiMarkov(3))
    assert post.status.tolist() == [sp.Status.STALLED]
