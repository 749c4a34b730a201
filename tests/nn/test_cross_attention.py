"""Attention between two sentences against one pair and one word at a time."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.nn import CrossAttention

PAIRS = {None: None, "matching": sp.Matching(), "some": sp.Matching(partial=True)}
SIZES = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=3)


def made(kind: str | None) -> CrossAttention:
    torch.manual_seed(0)
    return CrossAttention(3, 2, structure=PAIRS[kind]).double()


def drawn(sizes: list[tuple[int, int]], seed: int) -> tuple[list[Tensor], list[Tensor]]:
    """The vectors of both sides, NaN beyond the lengths, and the lengths."""
    generator = torch.Generator().manual_seed(seed)
    sides, lengths = [], [torch.tensor(side) for side in zip(*sizes, strict=True)]
    for length in lengths:
        x = torch.randn(len(sizes), int(length.max()), 3, dtype=torch.float64, generator=generator)
        x[torch.arange(x.shape[1]) >= length[:, None]] = torch.nan
        sides.append(x)
    return sides, lengths


def weights(module: CrossAttention, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Of one pair (n, 3) and (m, 3)."""
    scores = torch.stack([torch.stack([(x * y).sum() for y in b]) for x in a])
    if module.structure is None:
        rows = scores.exp() / scores.exp().sum(1, keepdim=True)
        columns = scores.exp() / scores.exp().sum(0, keepdim=True)
        return rows, columns.T
    every = module.structure.enumerate(*scores.shape)
    parts = module.structure.indicator(every, tuple(scores.shape)).double()
    choice = sp.sparsemap(scores, module.structure)
    found = sum(
        w * parts[(every == structure).all(-1)][0]
        for w, structure in zip(choice.weights, choice.structures, strict=True)
    )
    assert isinstance(found, Tensor)
    return found, found.T


def plain(module: CrossAttention, x: Tensor, other: Tensor, attention: Tensor) -> Tensor:
    """The words of one sentence."""
    rows = []
    for i, word in enumerate(x):
        context = sum((p * y for p, y in zip(attention[i], other, strict=True)), torch.zeros(3))
        told = torch.cat([word, context, word - context, word * context])
        rows.append((module.join.weight @ told + module.join.bias).clamp(min=0))
    return torch.stack(rows)


@pytest.mark.parametrize("kind", PAIRS)
@given(SIZES, st.integers(0, 10**6))
def test_words_are_those_of_each_pair_alone(kind, sizes, seed):
    module = made(kind)
    (a, b), (n, m) = drawn(sizes, seed)
    left, right, to_b, to_a = module(a, b, (n, m), return_weights=True)
    for i, (rows, columns) in enumerate(sizes):
        x, y = a[i, :rows], b[i, :columns]
        to_y, to_x = weights(module, x, y)
        torch.testing.assert_close(to_b[i, :rows, :columns], to_y)
        torch.testing.assert_close(to_a[i, :columns, :rows], to_x)
        assert not to_b[i, :rows, columns:].any()
        torch.testing.assert_close(left[i, :rows], plain(module, x, y, to_y))
        torch.testing.assert_close(right[i, :columns], plain(module, y, x, to_x))


@pytest.mark.parametrize("kind", PAIRS)
def test_gradients(kind):
    module = made(kind)
    (a, b), lengths = drawn([(3, 2), (1, 3)], 0)
    a, b = (x.nan_to_num().requires_grad_() for x in (a, b))
    assert torch.autograd.gradcheck(lambda a, b: module(a, b, tuple(lengths)), (a, b))


@pytest.mark.parametrize("kind", PAIRS)
def test_padding_gets_no_gradient(kind):
    (a, b), lengths = drawn([(3, 2), (1, 4)], 1)
    a.requires_grad_()
    left, right = made(kind)(a, b, tuple(lengths))
    (left[0].sum() + left[1, :1].sum() + right[1].sum()).backward()
    assert a.grad is not None
    assert a.grad.isfinite().all()
    assert not a.grad[1, 1:].any()


def test_a_word_without_a_partner_attends_to_nothing():
    module = CrossAttention(2, structure=sp.Matching()).double()
    with torch.no_grad():
        module.join.weight.zero_()[:, 2:4] = torch.eye(2)  # what comes in second, the context
        module.join.bias.zero_()
    a = torch.tensor([[[9.0, 0], [0, 9.0], [1.0, 1.0]]]).double()
    b = torch.tensor([[[9.0, 0], [0, 9.0]]]).double()
    left, right = module(a, b)
    torch.testing.assert_close(left[0], torch.tensor([[9.0, 0], [0, 9.0], [0, 0]]).double())
    torch.testing.assert_close(right, b)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="structure: expected pairs of rows and columns, got"):
        CrossAttention(3, structure=sp.LinearChain())  # pyright: ignore[reportArgumentType]
    module = CrossAttention(3)
    with pytest.raises(ValueError, match=r"word vectors: expected floating .* 3\)"):
        module(torch.zeros(2, 4, 3), torch.zeros(2, 4, 5))
    with pytest.raises(ValueError, match=r"two batches .* \(2, 4, 3\) and \(1, 4, 3\)"):
        module(torch.zeros(2, 4, 3), torch.zeros(1, 4, 3))
    with pytest.raises(ValueError, match="lengths"):
        module(torch.zeros(2, 4, 3), torch.zeros(2, 4, 3), (torch.tensor([5, 1]), None))
    assert "softmax" in repr(module)
