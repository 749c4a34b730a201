"""The scores of CTC: the loss and its gradient are those of PyTorch."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import ctc_loss
from torch.testing import assert_close

import sparsewood as sp

CTC = sp.Alignment(steps="ctc")


def draw(
    batch: int, frames: int, symbols: int, labels: int, seed: int, blank: int = 0
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits, targets with many repetitions, and the frames and labels of each instance."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(batch, frames, symbols, dtype=torch.float64, generator=generator)
    targets = torch.randint(0, symbols - 1, (batch, labels), generator=generator)
    targets += targets >= blank
    held = torch.randint(0, labels + 1, (batch,), generator=generator)
    again = (targets[:, 1:] == targets[:, :-1]).cumsum(1)
    needed = held + torch.nn.functional.pad(again, (2, 0)).gather(1, held[:, None])[:, 0]
    seen = torch.maximum(needed, torch.randint(1, frames + 1, (batch,), generator=generator))
    return logits, targets, seen, held


def both(
    logits: Tensor, targets: Tensor, frames: Tensor, labels: Tensor, blank: int
) -> list[tuple[Tensor, Tensor]]:
    """The losses and the gradients with respect to the logits, PyTorch's and ours."""
    leaf = logits.clone().requires_grad_()
    theirs = ctc_loss(
        leaf.log_softmax(-1).transpose(0, 1), targets, frames, labels, blank, reduction="none"
    )
    scores, lengths = sp.ctc_scores(
        leaf.log_softmax(-1), targets, blank=blank, frames=frames, labels=labels
    )
    ours = -sp.marginals(scores, CTC, lengths=lengths).log_partition
    return [(loss.detach(), torch.autograd.grad(loss.sum(), leaf)[0]) for loss in (theirs, ours)]


@settings(deadline=None, max_examples=60)
@given(
    batch=st.integers(1, 4),
    labels=st.integers(1, 6),
    more=st.integers(0, 10),
    symbols=st.integers(2, 6),
    blank=st.integers(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_loss_is_that_of_pytorch(
    batch: int, labels: int, more: int, symbols: int, blank: int, seed: int
) -> None:
    logits, targets, frames, held = draw(batch, 2 * labels + more, symbols, labels, seed, blank)
    (loss, slope), (found, own) = both(logits, targets, frames, held, blank)
    assert_close(found, loss, rtol=1e-10, atol=1e-10)
    assert_close(own, slope, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_of_medium_sizes_is_that_of_pytorch(seed: int) -> None:
    logits, targets, frames, held = draw(4, 150, 30, 40, seed)
    (loss, slope), (found, own) = both(logits, targets, frames, held, 0)
    assert_close(found, loss, rtol=1e-11, atol=1e-9)
    assert_close(own, slope, rtol=1e-7, atol=1e-9)


def test_the_best_alignment_spells_the_labels() -> None:
    logits, targets, frames, labels = draw(6, 30, 5, 8, seed=1)
    scores, lengths = sp.ctc_scores(logits, targets, frames=frames, labels=labels)
    path = CTC.argmax(scores, lengths)
    for b, (rows, seen) in enumerate(lengths.tolist()):
        row = path[b, :rows, :seen].argmax(0)
        value = scores[b, row, torch.arange(seen)]
        symbol = (logits[b, :seen] == value[:, None]).double().argmax(-1)
        spelt = [s for s, before in zip(symbol, [0, *symbol], strict=False) if s and s != before]
        assert [int(s) for s in spelt] == targets[b, : labels[b]].tolist()


def test_equal_labels_get_a_row_for_the_blank_between_them() -> None:
    log_probs = torch.randn(1, 6, 3).log_softmax(-1)
    scores, lengths = sp.ctc_scores(log_probs, torch.tensor([[1, 1, 2]]))
    assert lengths.tolist() == [[9, 6]]
    wanted = [0, 1, None, 0, None, 1, 0, 2, 0]  # symbols of the rows, None: forbidden
    for row, symbol in zip(scores[0], wanted, strict=True):
        expected = torch.full((6,), -torch.inf) if symbol is None else log_probs[0, :, symbol]
        assert torch.equal(row, expected)


@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_any_batch_dimensions(batch: tuple[int, ...]) -> None:
    count = torch.Size(batch).numel()
    logits, targets, frames, labels = draw(count, 9, 4, 3, seed=2)
    flat, sizes = sp.ctc_scores(logits, targets, frames=frames, labels=labels)
    scores, lengths = sp.ctc_scores(
        logits.reshape(*batch, 9, 4),
        targets.reshape(*batch, 3),
        frames=frames.reshape(batch),
        labels=labels.reshape(batch),
    )
    assert torch.equal(scores, flat.reshape(*batch, *flat.shape[1:]))
    assert torch.equal(lengths, sizes.reshape(*batch, 2))
    assert sp.map(scores, CTC, lengths=lengths).scores.shape == batch


def test_padding_is_never_read() -> None:
    logits, targets, _, _ = draw(2, 8, 4, 3, seed=3)
    frames, labels = torch.tensor([8, 6]), torch.tensor([3, 1])
    clean = sp.ctc_scores(logits, targets, frames=frames, labels=labels)
    logits[1, 6:], targets[1, 1:] = torch.nan, -100
    dirty = sp.ctc_scores(logits, targets, frames=frames, labels=labels)
    best = [sp.map(*one[:1], CTC, lengths=one.lengths) for one in (clean, dirty)]
    assert torch.equal(best[0].structures, best[1].structures)
    assert torch.equal(best[0].scores, best[1].scores)


def test_no_labels_are_all_blanks() -> None:
    log_probs = torch.randn(2, 4, 3).log_softmax(-1)
    scores, lengths = sp.ctc_scores(log_probs, torch.zeros(2, 0, dtype=torch.int64))
    assert lengths.tolist() == [[1, 4], [1, 4]]
    assert_close(sp.marginals(scores, CTC).log_partition, log_probs[..., 0].sum(-1))


def test_dtypes_and_inputs_stay() -> None:
    for dtype in (torch.float64, torch.float32, torch.float16):
        log_probs, targets = (
            torch.randn(1, 4, 3).to(dtype),
            torch.tensor([[1, 2]], dtype=torch.int32),
        )
        before = log_probs.clone(), targets.clone()
        scores, lengths = sp.ctc_scores(log_probs, targets)
        assert (scores.dtype, lengths.dtype) == (dtype, torch.int64)
        assert torch.equal(log_probs, before[0])
        assert torch.equal(targets, before[1])


def test_what_does_not_fit_is_named() -> None:
    log_probs, targets = torch.zeros(2, 5, 4), torch.tensor([[1, 2], [3, 1]])
    for bad, message in (
        ({"log_probs": torch.zeros(4)}, r"log_probs: expected \(\*batch, T, C\)"),
        ({"log_probs": torch.zeros(2, 5, 4).long()}, r"floating dtype, got torch.int64"),
        ({"targets": torch.zeros(2, 2)}, "targets: expected an integer dtype, got torch.float32"),
        ({"targets": torch.ones(3, 2).long()}, r"targets: expected \(\*batch, L\) .* \(3, 2\)"),
        (
            {"targets": torch.tensor([[1, 2], [3, 4]])},
            r"targets\[1, 1\] is 4, not one of 4 symbols",
        ),
        ({"targets": torch.tensor([[1, 0], [3, 1]])}, r"targets\[0, 1\] is 0, the blank"),
        ({"blank": 4}, "blank must be at most 3"),
        ({"frames": torch.tensor([5, 6])}, r"frames\[1\] is 6: expected 1 to 5"),
        ({"labels": torch.tensor([-1, 1])}, r"labels\[0\] is -1: expected 0 to 2"),
        ({"labels": torch.tensor([1.0, 1.0])}, "labels: expected an integer dtype"),
        ({"labels": torch.tensor([1])}, r"labels: expected shape \(2,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            sp.ctc_scores(**({"log_probs": log_probs, "targets": targets} | bad))  # pyright: ignore
    scores, lengths = sp.ctc_scores(torch.zeros(1, 3, 4), torch.tensor([[2, 2, 2]]))
    with pytest.raises(ValueError, match="at least L columns"):
        sp.marginals(scores, CTC, lengths=lengths)
