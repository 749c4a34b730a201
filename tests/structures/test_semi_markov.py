"""Segmentations: counts, membership, scores packed and unpacked, and the conformance kit."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import MarginalsConformance, StructureConformance, draw_scores
from tests.fuzz.family import Family

FUZZED = [
    Family(
        name,
        structure,
        ((1, 1), (1, 3), (2, 1), (2, 3), (3, 2), (3, 3), (4, 2)),
        lambda positions, labels, longest=structure.max_length: (
            positions,
            labels,
            longest + labels,
        ),
        (0, -1),
    )
    for name, structure in (
        ("segments", sp.SemiMarkov(2)),
        ("segments-both", sp.SemiMarkov(3, "both")),
    )
]


class SegmentConformance(StructureConformance, MarginalsConformance):
    has_lengths = True
    sizes = (1, 3)
    shape = staticmethod(lambda n: (n, 2, 2 + 2))

    @staticmethod
    def size(n: int) -> tuple[int, ...]:
        return (n, 2)


@pytest.mark.full
class TestSegmentsPenalised(SegmentConformance):
    structure = sp.SemiMarkov(2)


class TestBothPenalised(SegmentConformance):
    structure = sp.SemiMarkov(2, penalty="both")


@pytest.mark.full
class TestOneLabel(SegmentConformance):
    structure = sp.SemiMarkov(3)
    sizes = (1, 4)
    shape = staticmethod(lambda n: (n, 1, 3 + 1))

    @staticmethod
    def size(n: int) -> tuple[int, ...]:
        return (n, 1)


def test_counts() -> None:
    assert [sp.SemiMarkov(2).count(n, 1) for n in range(1, 8)] == [1, 2, 3, 5, 8, 13, 21]
    assert [sp.SemiMarkov(9).count(n, 1) for n in range(1, 6)] == [1, 2, 4, 8, 16]
    assert sp.SemiMarkov(1).count(5, 3) == 3**5
    assert sp.SemiMarkov(10).count(10, 3) == 3 * 4**9
    with pytest.raises(ValueError, match="T = 0"):
        sp.SemiMarkov(2).count(0, 1)
    with pytest.raises(ValueError, match="at most 20000 .* K = 10"):
        sp.SemiMarkov(3).enumerate(6, 10)


def test_members() -> None:
    structures = torch.tensor(
        [
            [[2, 0], [0, -1], [1, 1]],
            [[1, 0], [0, -1], [1, 1]],  # nothing covers position 1
            [[2, 0], [1, 0], [1, 1]],  # two segments cover it
            [[1, 0], [3, 1], [0, -1]],  # past the end, and too long
            [[3, 0], [0, -1], [0, -1]],  # too long
            [[1, 0], [1, -1], [1, 0]],  # no label
        ]
    )
    segments = sp.SemiMarkov(2)
    assert segments.contains(structures, (3, 2, 4)).tolist() == [True] + [False] * 5
    padded = torch.tensor([[[2, 0], [0, -1], [0, -1]], [[1, 1], [1, 0], [1, 0]]])
    assert segments.contains(padded, (3, 2, 4), torch.tensor([2, 2])).tolist() == [True, False]


def test_indicator_and_decode() -> None:
    segments = sp.SemiMarkov(2)
    structures = torch.tensor([[[2, 1], [0, -1], [1, 0], [0, -1]]])
    parts = segments.indicator(structures, (4, 2, 4))
    assert parts.nonzero().tolist() == [[0, 0, 1, 1], [0, 2, 0, 0], [0, 2, 0, 2 + 1]]
    assert torch.equal(segments.decode(parts), structures)


def test_what_is_read() -> None:
    scores = torch.zeros(1, 3, 1, 2 + 1)
    reads = sp.SemiMarkov(2).reads(scores, torch.tensor([2]))
    assert reads[0, :, 0].tolist() == [[1, 1, 0], [1, 0, 1], [0, 0, 0]]


def test_which_parts_carry_the_penalty() -> None:
    scores = torch.zeros(1, 3, 2, 1 + 2)
    penalised = sp.SemiMarkov(1).penalised(scores)
    assert penalised is not None
    assert penalised.shape == (3, 2, 3)
    assert penalised[0, 0].tolist() == [True, False, False]
    assert sp.SemiMarkov(1, penalty="both").penalised(scores) is None


def total(structure: list[tuple[int, int]], segments: Tensor, moves: Tensor, ends: Tensor) -> float:
    """The score of one list of (length, label): segments (T, D, K), moves (T - 1, K, K)."""
    t, before, score = 0, -1, 0.0
    for length, label in structure:
        score += float(segments[t, length - 1, label])
        score += float(ends[0, label] if t == 0 else moves[t - 1, before, label])
        t, before = t + length, label
    return score + float(ends[1, before])


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 5), shared=st.booleans())
def test_packed_scores(seed: int, size: int, shared: bool) -> None:
    family, labels = sp.SemiMarkov(3), 2
    segments = draw_scores("normal", 2, (6, 3, labels), seed)
    moves = draw_scores("normal", 2, (5, labels, labels), seed + 1)
    ends = draw_scores("normal", 2, (2, labels), seed + 2)
    lengths = torch.tensor([size, 6])
    transition = moves[0, 0] if shared else moves
    parts = family.pack(segments, transition, start=ends[:, 0], end=ends[:, 1], lengths=lengths)
    listed = family.enumerate(size, labels)
    padded = torch.nn.functional.pad(listed, (0, 0, 0, 6 - size))
    padded[:, size:, 1] = -1
    totals = (family.indicator(padded, (6, labels, 3 + labels)) * parts[0]).flatten(1).sum(-1)
    for structure, score in zip(listed.tolist(), totals.tolist(), strict=True):
        pairs = [(length, label) for length, label in structure if length > 0]
        each = moves[0, :1].expand(5, -1, -1) if shared else moves[0]
        assert score == pytest.approx(total(pairs, segments[0], each, ends[0]), abs=1e-12)


def test_pack_takes_any_batch_dimensions() -> None:
    family, lengths = sp.SemiMarkov(2), torch.tensor([[4, 2, 1], [1, 3, 3]])
    segments, moves = torch.randn(2, 3, 4, 2, 2), torch.randn(2, 3, 3, 2, 2)
    start, end = torch.randn(2), torch.randn(2, 3, 2)
    parts = family.pack(segments, moves, start=start, end=end, lengths=lengths)
    flat = family.pack(
        segments.flatten(0, 1),
        moves.flatten(0, 1),
        start=start,
        end=end.flatten(0, 1),
        lengths=lengths.flatten(),
    )
    assert torch.equal(parts, flat.reshape(2, 3, 4, 2, 4))
    one = family.pack(
        segments[0, 1], moves[0, 1], start=start, end=end[0, 1], lengths=lengths[0, 1]
    )
    assert torch.equal(one, parts[0, 1])
    assert torch.equal(family.unpack(parts).transition, moves)


def test_unpack_is_the_inverse_of_pack() -> None:
    family = sp.SemiMarkov(2)
    segments, moves = torch.randn(2, 4, 2, 3), torch.randn(2, 3, 3, 3)
    found = family.unpack(family.pack(segments, moves))
    assert torch.equal(found.segments, segments)
    assert torch.equal(found.transition, moves)
    post = sp.sparsemap(family.pack(segments, moves), family)
    by_length = family.unpack(post.marginals).segments
    covered = (by_length.sum(-1) * torch.tensor([1.0, 2.0])).sum((1, 2))
    torch.testing.assert_close(covered, torch.full((2,), 4.0))


def test_without_transitions_there_are_none() -> None:
    family = sp.SemiMarkov(2)
    parts = family.pack(torch.randn(1, 3, 2, 2))
    assert parts.shape == (1, 3, 2, 4)
    assert (parts[..., 2:] == 0).all()


def test_segments_of_one_are_a_chain() -> None:
    unary, moves = draw_scores("normal", 3, (6, 4), 0), draw_scores("normal", 3, (5, 4, 4), 1)
    family, chain = sp.SemiMarkov(1), sp.LinearChain()
    post = sp.sparsemap(family.pack(unary[:, :, None], moves), family)
    same = sp.sparsemap(chain.pack(unary, moves), chain)
    torch.testing.assert_close(post.marginals[..., 0], same.marginals[..., 0], rtol=0, atol=1e-9)
    assert torch.equal(post.mode[..., 1], same.mode)


@pytest.mark.parametrize("penalty", ["segments", "both"])
def test_a_larger_instance_is_certified(penalty: str) -> None:
    family = sp.SemiMarkov(5, penalty=penalty)  # pyright: ignore[reportArgumentType]
    scores = draw_scores("normal", 2, (20, 4, 5 + 4), seed=3)
    post = sp.sparsemap(scores, family)
    assert post.converged.all()
    assert family.contains(post.structures, (20, 4, 9)).all()


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="max_length .* 0"):
        sp.SemiMarkov(0)
    with pytest.raises(ValueError, match="'none'"):
        sp.SemiMarkov(2, penalty="none")  # pyright: ignore[reportArgumentType]
    family = sp.SemiMarkov(3)
    with pytest.raises(ValueError, match="at most 32767"):
        family.validate(torch.zeros(1, 1, 200, 203))
    segments = torch.zeros(2, 4, 3, 2)
    with pytest.raises(ValueError, match=r"segments: expected \(\*batch, T, 3, K\)"):
        family.pack(segments[:, :, :2])
    for name in ("transition", "start", "end"):
        with pytest.raises(ValueError, match=rf"{name}: expected .* got \(7, 7\)"):
            family.pack(segments, **{name: torch.zeros(7, 7)})


def test_forbidden_segments_that_leave_no_segmentation() -> None:
    scores = torch.zeros(2, 3, 1, 2 + 1)
    scores[1, :2, 0, :2] = -torch.inf
    with pytest.raises(ValueError, match=r"\b1\b"):
        sp.SemiMarkov(2).argmax(scores)
