"""Chains and segmentations by kernels: against the recursions in PyTorch and enumeration."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import sparsewood as sp
from sparsewood._internal import cuda
from sparsewood.structures.recursions import FORBIDDEN, logsumexp
from sparsewood.structures.recursions.hessian import hessian_product
from sparsewood.structures.recursions.segment_kernels import _PROGRAM, hessian, shift, sums
from sparsewood.structures.recursions.segment_sums import segment_sums
from sparsewood.structures.recursions.semi_markov import segmentations
from sparsewood.testing import MarginalsConformance, draw_scores
from tests.emulator import ORDERS, EmulatedKernels

CASES = [
    (sp.LinearChain(), 1, 6, 3),
    (sp.LinearChain(), 1, 1, 4),
    (sp.LinearChain(), 1, 30, 1),
    (sp.LinearChain(), 1, 5, 40),
    (sp.SemiMarkov(3), 3, 7, 5),
    (sp.SemiMarkov(9), 9, 4, 2),
]


@pytest.mark.usefixtures("emulated")
class TestChains(MarginalsConformance):
    structure = sp.LinearChain()
    has_lengths = True
    shape = staticmethod(lambda n: (n, 3, 4))
    size = staticmethod(lambda n: (n, 3))


@pytest.mark.usefixtures("emulated")
class TestSegments(MarginalsConformance):
    structure = sp.SemiMarkov(2)
    has_lengths = True
    shape = staticmethod(lambda n: (n, 2, 4))
    size = staticmethod(lambda n: (n, 2))


def table(structure: sp.Structure, longest: int, steps: int, labels: int) -> tuple[Tensor, Tensor]:
    """Scores of three instances in the format of recursions, some forbidden, and lengths."""
    lengths = torch.tensor([steps, (steps + 1) // 2, 1])
    scores = draw_scores("normal", 3, (steps, labels, longest + labels), seed=0)
    spread = torch.rand(scores.shape, generator=torch.Generator().manual_seed(1))
    forbidden = (spread < 0.2) & (scores < 0)
    forbidden[:, :, 0] = False  # so that a structure is left
    reads = structure.reads(scores, lengths)
    return scores.masked_fill(forbidden | ~reads, FORBIDDEN), lengths


@pytest.mark.parametrize(("structure", "longest", "steps", "labels"), CASES)
def test_kernels_agree_with_the_recursion(
    device: torch.device, structure: sp.Structure, longest: int, steps: int, labels: int
) -> None:
    scores, lengths = table(structure, longest, steps, labels)
    along = draw_scores("normal", 3, tuple(scores.shape[1:]), seed=2)
    leaf = scores.to(device).requires_grad_()
    found = segment_sums(leaf, lengths.to(device), longest)
    assert found is not None
    (product,) = torch.autograd.grad(found[1], leaf, along.to(device), retain_graph=True)
    (further,) = torch.autograd.grad(found[1], leaf, along.to(device), create_graph=True)
    (first,) = torch.autograd.grad(found[0].sum(), leaf)

    def recursion(scores: Tensor) -> Tensor:
        return segmentations(scores, lengths, logsumexp, longest)

    plain = scores.requires_grad_()
    (marginals,) = torch.autograd.grad(recursion(plain).sum(), plain)
    second = hessian_product(recursion, plain, along)
    results = (*found, first, product, further)
    wanted = (recursion(plain), marginals, marginals, second, second)
    for result, value in zip(results, wanted, strict=True):
        assert_close(result.cpu(), value, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("structure", "longest", "steps", "labels"), CASES)
def test_kernels_do_not_depend_on_the_order_of_threads(
    structure: sp.Structure, longest: int, steps: int, labels: int
) -> None:
    scores, lengths = table(structure, longest, steps, labels)
    along = draw_scores("normal", 3, tuple(scores.shape[1:]), seed=2)
    found = []
    for order in ORDERS:
        kernels = EmulatedKernels(_PROGRAM, order)
        log_sums, marginals, tables = sums(kernels, scores, lengths, longest)
        product = hessian(kernels, scores, lengths, longest, tables, along)
        shifted = shift(kernels, scores.clone(), lengths, longest)
        found.append((log_sums, marginals, product, shifted.scores, shifted.shared))
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_a_call_takes_two_launches_and_its_gradient_one() -> None:
    scores = draw_scores("normal", 3, (6, 4, 5), seed=0).requires_grad_()
    kernels = EmulatedKernels(_PROGRAM)
    with cuda.emulate(lambda _: kernels):
        dist = sp.marginals(scores, sp.LinearChain(), lengths=torch.tensor([6, 2, 1]))
        loss = dist.marginals.square().sum() + dist.entropy().sum()
        assert kernels.launches == ["segment_shift", "segment_sums"]
        torch.autograd.grad(loss, scores)
    assert kernels.launches[2:] == ["segment_hessian"]
