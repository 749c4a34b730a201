"""Charts, native and as kernels: against the recursions in PyTorch and enumeration."""

from functools import partial

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch.testing import assert_close

import sparsewood as sp
from sparsewood._internal import cuda
from sparsewood.structures.recursions import FORBIDDEN, logsumexp
from sparsewood.structures.recursions.hessian import hessian_product
from sparsewood.testing import draw_scores
from tests.emulator import ORDERS, EmulatedKernels

# Families, their parts at size n, and whether lengths are pairs.
FAMILIES = {
    "projective": (sp.DependencyTrees(True), lambda n: (n, n + 1)),
    "single-root": (sp.DependencyTrees(True, True), lambda n: (n, n + 1)),
    "few-children": (sp.DependencyTrees(True, max_children=2), lambda n: (n, n + 1)),
    "one-child": (sp.DependencyTrees(True, True, max_children=1), lambda n: (n, n + 1)),
    "labelled": (sp.LabelledDependencyTrees(True), lambda n: (n, n + 1, 3)),
    "binary": (sp.BinaryTrees(), lambda n: (n, n)),
    "labelled-binary": (sp.BinaryTrees(labelled=True), lambda n: (n, n, 3)),
    "paths": (sp.Alignment(), lambda n: (n, n + 2)),
    "gaps": (sp.Alignment(gaps=True), lambda n: (n + 1, n)),
    "speech": (sp.Alignment(steps="speech"), lambda n: (n, n + 2)),
    "ctc": (sp.Alignment(steps="ctc"), lambda n: (2 * n - 1, n + 2)),
    "steps": (
        sp.Alignment(steps=[(0, 1), (1, 0), (1, 2), (2, 1), (3, 3), (0, 2)]),
        lambda n: (n + 1, n),
    ),
    "chain": (sp.LinearChain(), lambda n: (n, 3, 4)),
    "subset": (sp.Subset(k=1), lambda n: (n,)),
    "some": (sp.Subset(at_most=3), lambda n: (n,)),
    "segments": (sp.SemiMarkov(4), lambda n: (n, 2, 6)),
}
each_family = pytest.mark.parametrize("name", FAMILIES)


def steps_of(name: str, n: int, scale: float, seed: int) -> tuple[sp.Structure, Tensor, Tensor]:
    """A family, scores of its steps as recursions get them, some forbidden, and lengths."""
    structure, shape = FAMILIES[name]
    size = shape(n)
    scores = draw_scores("normal", 3, size, seed) * scale
    lengths = torch.tensor([n, (n + 1) // 2, 1])
    if isinstance(structure, sp.Alignment):
        fits = structure.steps in (None, "ctc")  # any, or labels that all fit
        short = (size[0], 1) if structure.steps is None else (2 * (n // 2) + 1, n)
        lengths = torch.tensor([size[:2], short if fits else size[:2], (1, size[1])])
    used = structure.indicator(structure.argmax(scores, lengths), size)
    spread = torch.rand(scores.shape, generator=torch.Generator().manual_seed(seed))
    reads = structure.reads(scores, lengths)
    scores = scores.masked_fill(~reads | ((spread < 0.2) & (used == 0)), FORBIDDEN)
    return structure, structure.shift(scores, lengths).scores, lengths


def check(structure: sp.Structure, steps: Tensor, lengths: Tensor, scale: float) -> None:
    """Log-sums, marginals, second derivatives with and without a graph: as by autograd."""
    along = draw_scores("normal", len(steps), tuple(steps.shape[1:]), seed=2)

    def recursion(steps: Tensor) -> Tensor:
        return structure.sum_steps(steps, lengths, logsumexp)

    leaf = steps.clone().requires_grad_()
    log_sums, marginals = structure.sums(leaf, lengths)
    assert marginals is not None
    (first,) = torch.autograd.grad(log_sums.sum(), leaf, retain_graph=True)
    (product,) = torch.autograd.grad(marginals, leaf, along, retain_graph=True)
    (further,) = torch.autograd.grad(marginals, leaf, along, create_graph=True)

    plain = steps.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(recursion(plain).sum(), plain)
    second = hessian_product(recursion, plain, along)
    assert_close(log_sums, recursion(plain), rtol=1e-13, atol=1e-11 * scale)
    for found in (marginals, first):
        assert_close(found, wanted, rtol=1e-9, atol=1e-11)
    for found in (product, further):
        assert_close(found, second, rtol=1e-9, atol=1e-10)


@each_family
@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(1, 9),
    scale=st.sampled_from([1.0, 30.0, 1000.0, 1e8]),
    seed=st.integers(0, 1000),
)
def test_charts_agree_with_the_recursion(name: str, n: int, scale: float, seed: int) -> None:
    structure, steps, lengths = steps_of(name, n, scale, seed)
    check(structure, steps, lengths, scale)


@each_family
def test_long_charts_agree_with_the_recursion(name: str) -> None:
    structure, steps, lengths = steps_of(name, 40, 5.0, seed=0)
    check(structure, steps, lengths, 5.0)


@each_family
@pytest.mark.parametrize("order", ORDERS)
def test_charts_by_kernels(name: str, order: str) -> None:
    for n, scale in ((4, 1.0), (9, 1000.0)):
        structure, steps, lengths = steps_of(name, n, scale, seed=1)
        with cuda.emulate(partial(EmulatedKernels, order=order)):
            check(structure, steps, lengths, scale)


@each_family
def test_samples_by_kernels_are_those_by_native_code(name: str) -> None:
    structure, steps, lengths = steps_of(name, 6, 1.0, seed=1)

    def draw() -> Tensor:
        return structure.samples(steps, lengths, 40, torch.Generator().manual_seed(3))

    native = draw()
    with cuda.emulate(EmulatedKernels):
        assert torch.equal(draw(), native)


@each_family
def test_samples_have_the_marginals_as_their_mean(name: str) -> None:
    """Each mean within five standard errors, at a size that cannot be enumerated."""
    structure, steps, lengths = steps_of(name, 8, 1.0, seed=1)
    found = structure.sums(steps.requires_grad_(), lengths)[1]
    assert found is not None
    marginals, count = structure.parts_of(found.detach()), 4000
    generator = torch.Generator().manual_seed(0)
    samples = structure.samples(steps.detach(), lengths, count, generator)
    parts = structure.indicator(samples.flatten(0, 1), tuple(marginals.shape[1:]))
    mean = parts.unflatten(0, (count, 3)).mean(0)
    error = (marginals * (1 - marginals)).clamp(min=0).sqrt() / count**0.5
    assert ((mean - marginals).abs() <= 5 * error + 2e-3).all()
