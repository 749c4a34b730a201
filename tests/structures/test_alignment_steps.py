"""Alignments along chosen steps: names, counts, membership, sums, the oracle against recursions."""

import pickle
from itertools import product
from math import comb

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import MarginalsConformance, StructureConformance, draw_scores
from tests.fuzz.family import Family
from tests.sides import MoreRows, Square

Pairs = tuple[tuple[int, int], ...]

SPEECH, CTC = sp.Alignment(steps="speech"), sp.Alignment(steps="ctc")
ROWS = sp.Alignment(steps=((1, 0), (1, 1), (1, 2)))  # one cell in each row
MIXED = sp.Alignment(steps=((0, 1), (1, 0), (1, 2), (2, 1), (3, 3)))  # five steps
EVERY: Pairs = tuple((a, b) for a, b in product(range(4), repeat=2) if a + b > 0)

FUZZED = [
    Family(
        "speech",
        SPEECH,
        ((1, 1), (1, 3), (2, 2), (2, 3), (2, 4), (3, 4)),
        lambda n, m: (n, m),
        0,
        lengths=2,
    ),
    Family("ctc", CTC, ((1, 1), (1, 3), (3, 1), (3, 2), (3, 3), (5, 3)), lambda n, m: (n, m), 0, 2),
    Family(
        "steps",
        MIXED,
        ((1, 1), (1, 3), (2, 2), (3, 1), (2, 3), (3, 3)),
        lambda n, m: (n, m),
        0,
        lengths=2,
    ),
]


class TestSpeech(StructureConformance, MarginalsConformance):
    structure = SPEECH
    has_lengths = True
    sizes = (1, 3)
    shape = size = length = staticmethod(lambda n: (n, 2 * n))


class CTCSizes:
    has_lengths = True
    sizes = (1, 3)
    shape = size = length = staticmethod(lambda n: (2 * n - 1, n + 1))


@pytest.mark.full
class TestCTC(CTCSizes, StructureConformance, MarginalsConformance):
    structure = CTC


@pytest.mark.full
class TestOneCellPerRow(MoreRows, StructureConformance, MarginalsConformance):
    structure = ROWS


@pytest.mark.full
class TestMixedSquare(Square, StructureConformance, MarginalsConformance):
    structure = MIXED
    sizes = (1, 3)


@pytest.mark.full
class TestMixedMoreRows(MoreRows, StructureConformance, MarginalsConformance):
    structure = MIXED


def best_score(scores: list[list[float]], pairs: Pairs, blanks: bool = False) -> float:
    """The highest score of a path, by the textbook recursion; -inf if there is none."""
    best: dict[tuple[int, int], float] = {}
    n, m = len(scores), len(scores[0])
    for i, j in product(range(n), range(m)):
        ways = [0.0] if j == 0 and i <= blanks else []
        for a, b in pairs:
            if not (blanks and a == 2 and i % 2 == 0):
                ways.append(best.get((i - a, j - b), float("-inf")))
        best[i, j] = scores[i][j] + max(ways, default=float("-inf"))
    ends = [(n - 1, m - 1), *([(n - 2, m - 1)] if blanks else [])]
    return max(best.get(end, float("-inf")) for end in ends)


step_sets = st.lists(st.sampled_from(EVERY), min_size=1, max_size=15, unique=True)


@settings(deadline=None, max_examples=80)
@given(
    n=st.integers(1, 20),
    m=st.integers(1, 20),
    pairs=step_sets,
    kind=st.sampled_from(["normal", "large", "integers", "equal", "forbidden"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_oracle_is_the_plain_recursion(
    n: int, m: int, pairs: list[tuple[int, int]], kind: str, seed: int
) -> None:
    alignment = sp.Alignment(steps=pairs)
    if best_score([[0.0] * m] * n, tuple(pairs)) == -torch.inf:
        if alignment.steps is not None:
            with pytest.raises(ValueError, match=rf"no path through {n} rows and {m} columns"):
                alignment.argmax(torch.zeros(1, n, m))
            assert alignment.count(n, m) == 0
        return
    scores = draw_scores(kind, 1, (n, m), seed)
    expected = best_score(scores[0].tolist(), tuple(pairs))
    if expected == -torch.inf:
        with pytest.raises(ValueError, match="instance 0 has no structure left"):
            sp.map(scores, alignment)
        return
    best = sp.map(scores, alignment)
    assert alignment.contains(best.structures, (n, m)).all()
    assert float(best.scores) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(labels=st.integers(0, 9), m=st.integers(1, 20), seed=st.integers(0, 2**32 - 1))
def test_oracle_with_blanks_is_the_plain_recursion(labels: int, m: int, seed: int) -> None:
    n = 2 * labels + 1
    if labels > m:
        with pytest.raises(ValueError, match=r"expected 2 L \+ 1 rows and at least L columns"):
            CTC.validate(torch.zeros(1, n, m))
        return
    scores = draw_scores("normal", 1, (n, m), seed)
    best = sp.map(scores, CTC)
    assert CTC.contains(best.structures, (n, m)).all()
    pairs = ((0, 1), (1, 1), (2, 1))
    assert float(best.scores) == pytest.approx(best_score(scores[0].tolist(), pairs, True))


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 4), m=st.integers(1, 4), pairs=step_sets, seed=st.integers(0, 2**32 - 1))
def test_sums_over_any_steps_are_by_enumeration(
    n: int, m: int, pairs: list[tuple[int, int]], seed: int
) -> None:
    alignment = sp.Alignment(steps=pairs)
    if alignment.count(n, m) == 0:
        return
    everything = alignment.enumerate(n, m)
    assert len(everything) == alignment.count(n, m)
    assert len(everything.unique(dim=0)) == len(everything)
    scores = draw_scores("normal", 2, (n, m), seed)
    each = torch.einsum("bij,tij->bt", scores, everything.double())
    dist = sp.marginals(scores, alignment)
    torch.testing.assert_close(dist.log_partition, each.logsumexp(-1))
    wanted = torch.einsum("bt,tij->bij", each.softmax(-1), everything.double())
    torch.testing.assert_close(dist.marginals, wanted)
    ranked = sp.kbest(scores, alignment, len(everything) + 1)
    torch.testing.assert_close(ranked.scores[:, :-1], each.sort(-1, descending=True).values)
    assert (ranked.scores[:, -1] == -torch.inf).all()


def test_named_sets() -> None:
    assert sp.Alignment(steps="warping") == sp.Alignment()
    assert sp.Alignment(steps=[(1, 1), (0, 1), (1, 0)]) == sp.Alignment()
    assert sp.Alignment(steps="global") == sp.Alignment(gaps=True)
    assert sp.Alignment(gaps=True, steps="global") == sp.Alignment(True)
    assert sp.Alignment(steps=np.array([[1, 1], [0, 1]])) == SPEECH
    assert sp.Alignment(steps=((0, 1), (1, 1), (2, 1))) != CTC
    assert hash(sp.Alignment(steps="global")) == hash(sp.Alignment(gaps=True))
    assert repr(sp.Alignment(steps="warping")) == "Alignment(gaps=False)"
    assert repr(SPEECH) == "Alignment(steps='speech')"
    for alignment in (SPEECH, CTC, MIXED):
        assert eval(repr(alignment), {"Alignment": sp.Alignment}) == alignment
        assert pickle.loads(pickle.dumps(alignment)) == alignment


@pytest.mark.parametrize(
    "steps",
    [
        "dtw",
        [],
        [(0, 0), (1, 1)],
        [(0, 4)],
        [(-1, 1)],
        [(1, 1, 1)],
        [(0.5, 1)],
        [1, 2],
        3,
        [(True, 1)],
    ],
)
def test_steps_that_are_refused(steps: object) -> None:
    with pytest.raises(ValueError, match='steps: expected "warping", "global", "speech", "ctc"'):
        sp.Alignment(steps=steps)  # pyright: ignore[reportArgumentType]


def test_gaps_are_no_step() -> None:
    with pytest.raises(ValueError, match="gaps=True needs steps"):
        sp.Alignment(gaps=True, steps="speech")


def test_counts() -> None:
    assert [SPEECH.count(n, 6) for n in range(1, 8)] == [comb(5, n - 1) for n in range(1, 8)]
    assert sp.Alignment(steps=[(1, 0), (0, 1)]).count(4, 5) == comb(7, 3)
    assert [CTC.count(2 * k + 1, k) for k in range(1, 6)] == [1] * 5  # no room for a blank
    assert CTC.count(1, 7) == 1
    assert CTC.count(3, 3) == 6  # each way to cut three frames into blanks, labels and blanks


@pytest.mark.parametrize("alignment", [SPEECH, CTC, ROWS, MIXED], ids=str)
@pytest.mark.parametrize("n", [1, 3])
def test_contains_exactly_what_enumerate_lists(alignment: sp.Alignment, n: int) -> None:
    """Among all 0/1 matrices with n rows and 3 columns."""
    cells = torch.cartesian_prod(*[torch.arange(2)] * (3 * n)).reshape(-1, n, 3)
    inside = cells[alignment.contains(cells, (n, 3))]
    assert {tuple(one.flatten().tolist()) for one in inside} == {
        tuple(one.flatten().tolist()) for one in alignment.enumerate(n, 3)
    }


@pytest.mark.parametrize("alignment", [SPEECH, MIXED], ids=str)
def test_a_batch_of_different_sizes(alignment: sp.Alignment) -> None:
    scores = draw_scores("normal", 30, (7, 9), seed=3)
    lengths = torch.tensor([[1 + b % 7, 1 + b % 7 + b % 3] for b in range(30)])
    padded = scores.masked_fill(~alignment.reads(scores, lengths), torch.nan)
    found = alignment.argmax(padded, lengths)
    assert alignment.contains(found, (7, 9), lengths).all()
    dist = sp.marginals(padded, alignment, lengths=lengths)
    for b, (n, m) in enumerate(lengths.tolist()):
        one = scores[b : b + 1, :n, :m]
        assert torch.equal(found[b, :n, :m], alignment.argmax(one)[0])
        alone = sp.marginals(one, alignment)
        torch.testing.assert_close(dist.marginals[b, :n, :m], alone.marginals[0])


def test_a_size_without_a_path_is_named() -> None:
    scores, lengths = torch.zeros(2, 4, 5), torch.tensor([[3, 4], [4, 3]])
    for call in (sp.map, sp.sparsemap, sp.marginals, sp.max_marginals):
        with pytest.raises(ValueError, match=r"instance 1: .* 4 rows and 3 columns: expected at"):
            call(scores, SPEECH, lengths=lengths)
    with pytest.raises(ValueError, match=r"no path through 2 rows and 5 columns: expected 2 L"):
        sp.map(torch.zeros(1, 2, 5), CTC)
    odd = sp.Alignment(steps=[(1, 2)])
    assert odd.argmax(torch.zeros(1, 3, 5)).sum() == 3
    with pytest.raises(ValueError, match=r"no path through 3 rows and 4 columns \(scores"):
        odd.argmax(torch.zeros(1, 3, 4))


def test_speech_gives_each_frame_one_token_in_order() -> None:
    scores = draw_scores("normal", 5, (30, 90), seed=0)
    path = SPEECH.argmax(scores)
    assert (path.sum(1) == 1).all()
    token = path.argmax(1)
    assert (token[:, 0] == 0).all()
    assert (token[:, -1] == 29).all()
    assert set(token.diff(dim=1).unique().tolist()) == {0, 1}


def test_speech_is_the_alignment_search_of_the_peer() -> None:
    peer = pytest.importorskip("monotonic_alignment_search")
    scores = torch.randn(8, 20, 60, generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor([[20 - b, 60 - 4 * b] for b in range(8)])
    mask = SPEECH.reads(scores, lengths).float()
    theirs = peer.maximum_path(scores, mask).double()
    best = sp.map(scores.double(), SPEECH, lengths=lengths)
    torch.testing.assert_close(best.scores, (scores.double() * theirs).sum((1, 2)))


@pytest.mark.parametrize("alignment", [SPEECH, CTC, MIXED], ids=str)
def test_float32_gives_the_answer_of_float64(alignment: sp.Alignment) -> None:
    scores = draw_scores("normal", 6, (9, 11), seed=0).float()
    scores[0, 3, 4] = -torch.inf
    assert torch.equal(sp.map(scores, alignment).structures, alignment.argmax(scores.double()))
    scores[2, 1, 1] = torch.nan
    with pytest.raises(ValueError, match=r"scores\[2, 1, 1\] is NaN"):
        alignment.argmax(scores)


def test_transposed_scores_have_transposed_answers() -> None:
    scores = draw_scores("normal", 3, (6, 9), seed=6)
    turned = sp.Alignment(steps=[(1, 0), (1, 1)])
    wide, tall = sp.sparsemap(scores, SPEECH), sp.sparsemap(scores.mT, turned)
    assert wide.converged.all()
    torch.testing.assert_close(wide.marginals, tall.marginals.mT, rtol=0, atol=1e-9)
    wanted = sp.marginals(scores, SPEECH).marginals
    torch.testing.assert_close(wanted, sp.marginals(scores.mT, turned).marginals.mT)


def test_equal_paths_take_the_longest_steps() -> None:
    assert torch.equal(MIXED.argmax(torch.zeros(1, 4, 4))[0].diagonal(), torch.tensor([1, 0, 0, 1]))


def test_larger_alignments_are_certified() -> None:
    scores = draw_scores("normal", 2, (15, 25), seed=1)
    for alignment in (SPEECH, CTC, MIXED):
        post = sp.sparsemap(scores, alignment)
        assert post.converged.all()
        generic = sp.sparsemap(scores, alignment, solver="generic")
        torch.testing.assert_close(post.marginals, generic.marginals, rtol=0, atol=1e-6)


def test_sums_under_transforms() -> None:
    scores = draw_scores("normal", 2, (3, 4), seed=1)

    def log_sum(x: Tensor) -> Tensor:
        return sp.marginals(x, CTC).log_partition.sum()

    slope = torch.func.grad(log_sum)(scores)
    torch.testing.assert_close(slope, sp.marginals(scores, CTC).marginals)
