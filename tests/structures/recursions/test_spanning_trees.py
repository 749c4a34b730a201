"""Sums over non-projective trees: all implementations, scores hundreds of nats apart."""

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood._internal import cuda
from sparsewood.structures.recursions import FORBIDDEN
from sparsewood.structures.recursions.elimination import eliminate
from sparsewood.structures.recursions.spanning_trees import (
    by_determinant,
    spanning_tree_sums,
    spanning_trees,
)
from sparsewood.structures.recursions.tree_kernels import _PROGRAM, hessian, sums
from sparsewood.testing import MarginalsConformance, draw_scores
from tests.emulator import ORDERS, EmulatedKernels


def by_kernels(scores: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    with cuda.emulate(EmulatedKernels):
        return spanning_trees(scores, lengths, single_root)


WAYS = {
    "native": spanning_trees,
    "determinant": by_determinant,
    "elimination": eliminate,
    "kernels": by_kernels,
}
roots = pytest.mark.parametrize("single_root", [False, True])
ways = pytest.mark.parametrize("way", WAYS)


@pytest.mark.usefixtures("emulated")
class TestKernels(MarginalsConformance):
    structure = sp.DependencyTrees()
    has_lengths = True
    shape = staticmethod(lambda n: (n, n + 1))


class TestKernelsSingleRoot(TestKernels):
    structure = sp.DependencyTrees(single_root=True)


def table(kind: str, n: int, scale: float, seed: int) -> Tensor:
    """Scores (8, n, n + 1) in the format of recursions."""
    scores = draw_scores(kind, 8, (n, n + 1), seed) * scale
    scores[:, torch.arange(n), torch.arange(1, n + 1)] = FORBIDDEN
    return scores.nan_to_num(neginf=FORBIDDEN)


def expected(scores: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Log-partition functions and marginals by enumeration."""
    trees = sp.DependencyTrees(single_root=single_root)
    parts = trees.indicator(trees.enumerate(scores.shape[1])).flatten(1)
    totals = torch.where(parts.bool(), scores.detach().flatten(1)[:, None], 0.0).sum(-1)
    return totals.logsumexp(-1), (totals.softmax(-1) @ parts).view_as(scores)


@ways
@roots
@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0, 300.0])
@pytest.mark.parametrize("kind", ["normal", "forbidden"])
def test_each_way_agrees_with_enumeration(
    way: str, single_root: bool, scale: float, kind: str
) -> None:
    for n in range(1, 6):
        scores = table(kind, n, scale, seed=n)
        scores = scores[expected(scores, single_root)[0] > FORBIDDEN / 2].requires_grad_()
        log_partition, marginals = expected(scores, single_root)
        found = WAYS[way](scores, None, single_root)
        (gradient,) = torch.autograd.grad(found.sum(), scores)
        torch.testing.assert_close(found, log_partition, rtol=1e-14, atol=1e-11)
        torch.testing.assert_close(gradient, marginals, rtol=0, atol=1e-11)


@ways
@roots
def test_each_way_knows_that_no_tree_is_left(way: str, single_root: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    seen = set()
    for n in range(1, 5):
        scores = table("normal", n, 1.0, seed=n).repeat(20, 1, 1)
        for low in (FORBIDDEN, -700.0):
            spread = torch.rand(scores.shape, generator=generator)
            scores = torch.where(spread < 0.3, scores.clamp(max=low), scores)
        wanted, _ = expected(scores, single_root)
        found = WAYS[way](scores, None, single_root)
        left = wanted > FORBIDDEN / 2
        assert torch.equal(found > FORBIDDEN / 2, left)
        torch.testing.assert_close(found[left], wanted[left], rtol=1e-12, atol=1e-9)
        seen |= set(left.tolist())
    assert seen == {False, True}


@ways
@roots
def test_words_that_prefer_each_other(way: str, single_root: bool) -> None:
    """Two cycles of 60 nats each: the determinant of these weights is 0 in float64."""
    scores = torch.zeros(1, 4, 5).double()
    for word, head in ((0, 2), (1, 1), (2, 4), (3, 3)):
        scores[0, word, head] = 60.0
    scores[0, torch.arange(4), torch.arange(1, 5)] = FORBIDDEN
    scores.requires_grad_()
    log_partition, marginals = expected(scores, single_root)
    found = WAYS[way](scores, None, single_root)
    (gradient,) = torch.autograd.grad(found.sum(), scores)
    torch.testing.assert_close(found, log_partition, rtol=1e-14, atol=0)
    torch.testing.assert_close(gradient, marginals, rtol=0, atol=1e-12)


@ways
@roots
def test_longer_sentences_with_padding(way: str, single_root: bool) -> None:
    scores = draw_scores("normal", 3, (30, 31), seed=0) * 3
    lengths = torch.tensor([30, 17, 1])
    reads = sp.DependencyTrees().reads(scores, lengths)
    scores = scores.masked_fill(~reads, FORBIDDEN)
    exact = eliminate(scores, lengths, single_root)
    torch.testing.assert_close(WAYS[way](scores, lengths, single_root), exact, rtol=1e-12, atol=0)


@ways
@roots
def test_derivatives(way: str, single_root: bool) -> None:
    scores = table("normal", 3, 1.0, seed=0)[:2]
    scores[1, 0, 2] = scores[1, 1, 1] = 40.0  # a cycle, so that the determinant is inaccurate
    free = (scores > FORBIDDEN).nonzero(as_tuple=True)

    def infer(values: Tensor) -> tuple[Tensor, Tensor]:
        filled = scores.index_put(free, values)
        log_partition = WAYS[way](filled, None, single_root)
        (gradient,) = torch.autograd.grad(log_partition.sum(), filled, create_graph=True)
        return log_partition, gradient

    inputs = (scores[free].requires_grad_(),)
    assert torch.autograd.gradcheck(infer, inputs)
    assert torch.autograd.gradgradcheck(infer, inputs, fast_mode=True)


@roots
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_kernels_agree_with_the_native_sums(
    device: torch.device, single_root: bool, scale: float
) -> None:
    """To 1e-12, including second derivatives, with padding and single words."""
    trees = sp.DependencyTrees(single_root=single_root)
    for lengths in ([7, 5, 1], [20, 3, 12], [35, 35, 1]):
        n = max(lengths)
        given = torch.tensor(lengths)
        scores = draw_scores("normal", 3, (n, n + 1), seed=n) * scale
        scores = scores.masked_fill(~trees.reads(scores, given), FORBIDDEN)
        along = draw_scores("normal", 3, (n, n + 1), seed=n + 1)
        log_sums, marginals = spanning_tree_sums(
            leaf := scores.to(device).requires_grad_(), given.to(device), single_root
        )
        assert marginals is not None
        (product,) = torch.autograd.grad(marginals, leaf, along.to(device))
        exact = eliminate(leaf := scores.clone().requires_grad_(), given, single_root)
        (wanted,) = torch.autograd.grad(exact.sum(), leaf, create_graph=True)
        (second,) = torch.autograd.grad(wanted, leaf, along)
        for found, value in ((log_sums, exact), (marginals, wanted), (product, second)):
            torch.testing.assert_close(found.cpu(), value, rtol=1e-12, atol=1e-12 * scale)


@roots
def test_kernels_do_not_depend_on_the_order_of_threads(single_root: bool) -> None:
    scores, along = table("forbidden", 9, 1.0, seed=0), draw_scores("normal", 8, (9, 10), seed=1)
    scores[:, :, 0] = 0.0  # a tree is left
    lengths = torch.tensor([9, 1, 5, 2, 9, 8, 9, 9])
    found = []
    for order in ORDERS:
        kernels = EmulatedKernels(_PROGRAM, order)
        product = hessian(kernels, scores, lengths, single_root, along)
        found.append((*sums(kernels, scores, lengths, single_root), product))
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_a_long_sentence_is_not_left_to_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsewood.structures.recursions.tree_kernels._WORDS", 4)
    kernels = EmulatedKernels(_PROGRAM)
    with cuda.emulate(lambda _: kernels):
        for n, launches in ((4, ["tree_sums"]), (5, [])):
            scores = table("normal", n, 1.0, seed=0)
            kernels.launches.clear()
            found = spanning_trees(scores, None, False)
            assert kernels.launches == launches
            torch.testing.assert_close(found, eliminate(scores, None, False))


@roots
def test_samples_where_words_prefer_each_other(single_root: bool) -> None:
    """For the second sentence the sampler recomputes marginals; the first uses the inverse."""
    scores = draw_scores("normal", 2, (3, 4), seed=4)
    scores[1, 0, 2] = scores[1, 1, 1] = 45.0
    trees = sp.DependencyTrees(single_root=single_root)
    dist = sp.marginals(scores, trees)
    drawn = dist.sample(2000, generator=torch.Generator().manual_seed(0))
    share = trees.indicator(drawn.flatten(0, 1)).unflatten(0, (2000, 2)).mean(0)
    assert trees.contains(drawn.flatten(0, 1), (3, 4)).all()
    spread = (dist.marginals * (1 - dist.marginals) / 2000).sqrt()
    assert ((share - dist.marginals).abs() <= 4.5 * spread + 1e-12).all()


@pytest.mark.parametrize("single_root", [False, True])
def test_large_scores_leave_each_word_one_head(single_root: bool) -> None:
    """By elimination, with scores so large that rounding hides their differences."""
    scores = draw_scores("normal", 20, (4, 5), seed=0)
    scores = (scores * 1e3).sinh().clamp(-1e150, 1e150).requires_grad_()
    arcs = torch.where(sp.DependencyTrees().reads(scores), scores, FORBIDDEN)
    log_sums = eliminate(arcs, None, single_root)
    (marginals,) = torch.autograd.grad(log_sums.sum(), scores)
    torch.testing.assert_close(marginals.sum(-1), torch.ones(20, 4, dtype=torch.float64))
