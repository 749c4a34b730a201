"""The shift subtracts a constant that all structures share."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import sparsewood as sp
from sparsewood._internal import cuda
from sparsewood.structures.recursions import FORBIDDEN, Shifted
from sparsewood.structures.recursions.shifted import on_a_grid, or_zero, shift_arcs, top
from sparsewood.testing import draw_scores
from sparsewood.testing.reference import gains
from tests.emulator import EmulatedKernels

FAMILIES: list[tuple[sp.Structure, tuple[int, ...], tuple[int, ...]]] = [
    (sp.Simplex(), (4,), (4,)),
    (sp.Hypercube(), (4,), (4,)),
    (sp.Subset(2), (4,), (4,)),
    (sp.Subset(at_most=3), (4,), (4,)),
    (sp.LinearChain(), (3, 2, 3), (3, 2)),
    (sp.SemiMarkov(2), (4, 2, 4), (4, 2)),
    (sp.Alignment(), (2, 4), (2, 4)),
    (sp.Alignment(gaps=True), (4, 2), (4, 2)),
    (sp.Alignment(steps="speech"), (2, 4), (2, 4)),
    (sp.Alignment(steps="ctc"), (3, 4), (3, 4)),
    (sp.Alignment(steps=[(0, 1), (1, 0), (1, 2)]), (3, 3), (3, 3)),
    (sp.Paths.grid(2, 3), (7,), ()),
    (sp.BinaryTrees(), (4, 4), (4,)),
    (sp.BinaryTrees(labelled=True), (3, 3, 2), (3, 2)),
    (sp.DependencyTrees(), (3, 4), (3,)),
    (sp.DependencyTrees(single_root=True), (3, 4), (3,)),
    (sp.LabelledDependencyTrees(single_root=True), (3, 4, 2), (3, 2)),
]


@pytest.mark.parametrize(("structure", "shape", "size"), FAMILIES, ids=lambda x: str(x))
@pytest.mark.parametrize("common", [0.0, 1e12, -1e12])
def test_scores_of_structures_stay(
    structure: sp.Structure, shape: tuple[int, ...], size: tuple[int, ...], common: float
) -> None:
    check_that_scores_stay(structure, shape, size, common, torch.device("cpu"))


@pytest.mark.parametrize(("structure", "shape", "size"), FAMILIES, ids=lambda x: str(x))
@pytest.mark.parametrize("common", [0.0, 1e12, -1e12])
def test_scores_of_structures_stay_by_kernels(
    structure: sp.Structure,
    shape: tuple[int, ...],
    size: tuple[int, ...],
    common: float,
    device: torch.device,
) -> None:
    check_that_scores_stay(structure, shape, size, common, device)


def check_that_scores_stay(
    structure: sp.Structure,
    shape: tuple[int, ...],
    size: tuple[int, ...],
    common: float,
    device: torch.device,
) -> None:
    scores = draw_scores("normal", 3, shape, seed=0) + common
    everything = structure.enumerate(*size)
    columns = structure.indicator(everything, shape)
    theta = torch.where(structure.reads(scores), scores, FORBIDDEN)
    shifted = structure.shift(theta.to(device, copy=True), None)
    shifted = Shifted(shifted.scores.cpu(), shifted.shared.cpu())
    steps = structure.steps_of(columns)
    assert_close(structure.parts_of(steps), columns)
    found = (or_zero(shifted.scores)[:, None] * steps).flatten(2).sum(-1)
    gain, best = gains(scores.flatten(1), columns.flatten(1))
    assert_close(found.amax(-1) + shifted.shared, best)
    assert_close(found - found.amax(-1, keepdim=True), gain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("structure", "shape", "size"), FAMILIES, ids=lambda x: str(x))
def test_constants_have_no_gradient(
    structure: sp.Structure, shape: tuple[int, ...], size: tuple[int, ...]
) -> None:
    scores = draw_scores("normal", 2, shape, seed=1)
    reads = structure.reads(scores)

    def steps(scores: Tensor) -> Tensor:
        return structure.shift(torch.where(reads, scores, FORBIDDEN), None).scores

    value = steps(scores.requires_grad_())
    slopes = torch.randn(value.shape, dtype=torch.float64)
    slopes = torch.where(value < FORBIDDEN / 2, 0.0, slopes)
    (gradient,) = torch.autograd.grad(value, scores, slopes)
    assert_close(gradient, torch.where(reads, structure.parts_of(slopes), 0.0))


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("size", [1, 2, 5, 20])
def test_native_arcs_and_those_of_kernels_are_the_same(
    single_root: bool, labels: int, size: int
) -> None:
    """Noncontiguous scores use the other implementation."""
    scores = draw_scores("forbidden", 8, (size, size + 1, labels), seed=size) * 10
    scores[1, :, 0] = -torch.inf
    scores[2, 0, 1:] = -torch.inf
    scores[3, 0] = -torch.inf
    scores[4, 0, :, 0] = 1e9
    theta = scores.nan_to_num(neginf=FORBIDDEN)
    theta = theta.squeeze(-1) if labels == 1 else theta
    spread = theta.transpose(0, 1).contiguous().transpose(0, 1)
    assert not spread.is_contiguous() or size == 1
    with cuda.emulate(EmulatedKernels):
        by_kernel = shift_arcs(theta.clone(), single_root)
    native, expected = (shift_arcs(x, single_root) for x in (theta.clone(), spread))
    for found in (native, by_kernel):
        assert torch.equal(found.scores, expected.scores)
        assert_close(found.shared, expected.shared, rtol=1e-15, atol=1e-13)


def test_a_root_score_of_its_own_size() -> None:
    """All digits are kept although the arcs from the root score 1e10 more."""
    scores = draw_scores("normal", 1, (3, 4), seed=2)
    trees = sp.DependencyTrees(single_root=True)
    large, plain = (
        sp.marginals(scores.index_fill(2, torch.tensor(0), value), trees) for value in (1e10, 0.0)
    )
    assert_close(large.marginals, plain.marginals, rtol=0, atol=1e-14)
    assert_close(large.entropy(), plain.entropy(), rtol=0, atol=1e-13)


@pytest.mark.parametrize("end", [-2.0289810726248412e90, 1e60 / 3])
@pytest.mark.parametrize("cell", [0, -1])
def test_a_large_score_of_a_cell_that_all_paths_use(end: float, cell: int) -> None:
    """It changes no marginal, and costs no precision."""
    scores = draw_scores("normal", 1, (3, 3), seed=3)
    scores[0, cell, cell] = 0.0
    plain = sp.marginals(scores, sp.Alignment())
    scores[0, cell, cell] = end
    large = sp.marginals(scores, sp.Alignment())
    assert_close(large.marginals, plain.marginals, rtol=0, atol=1e-14)


def test_one_sign_leaves_the_largest_as_they_are() -> None:
    potential = -torch.rand(3, 20, dtype=torch.float64)
    rounded = on_a_grid(potential)
    assert torch.equal(rounded.amin(-1), potential.amin(-1))


def test_helpers() -> None:
    table = torch.tensor([[1.0, FORBIDDEN], [FORBIDDEN, FORBIDDEN]], dtype=torch.float64)
    assert top(table, 1).tolist() == [[1.0], [0.0]]
    assert or_zero(table).tolist() == [[1.0, 0.0], [0.0, 0.0]]
    potential = torch.randn(2, 50, dtype=torch.float64) * 10.0 ** torch.arange(-25, 25)
    rounded = on_a_grid(potential)
    size = potential.abs().amax(-1, keepdim=True)
    assert ((rounded - potential).abs() <= 2.0**-52 * size).all()
    for row in rounded.tolist():
        for value in row:
            assert math.fsum([row[0], -value]) == row[0] - value
