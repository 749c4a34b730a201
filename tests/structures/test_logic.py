"""Logic factors: the kit, and the closed forms of their projections and faces."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.logic import LogicFactor
from sparsewood.testing import StructureConformance, draw_scores, project
from tests.fuzz.family import Family

FUZZED = [
    Family(name, factor, sizes, lambda n: (n,), lengths=0, summed=False)
    for name, factor, sizes in (
        ("xor", sp.Xor(), ((1,), (3,))),
        ("xor-negated", sp.Xor((0, 2)), ((3,), (4,))),
        ("at-most-one", sp.AtMostOne(), ((1,), (4,))),
        ("or", sp.Or((1,)), ((2,), (4,))),
        ("budget", sp.Budget(2), ((1,), (4,))),
        ("implies", sp.Implies(), ((2,),)),
        ("pairwise", sp.Pairwise(), ((3,),)),
    )
]

COUNTS = (
    sp.Xor(),
    sp.AtMostOne(),
    sp.Or(),
    sp.Budget(2),
    sp.Xor(negated=(1,)),
    sp.Or(negated=(0, 2)),
    sp.AtMostOne(negated=(0, 1)),
    sp.Budget(2, negated=(2,)),
)
KINDS = ("normal", "integers", "equal", "forbidden")


class LogicConformance(StructureConformance):
    @staticmethod
    def shape(n: int) -> tuple[int, ...]:
        return (n,)


class TestXor(LogicConformance):
    structure = sp.Xor()


class TestBudget(LogicConformance):
    structure = sp.Budget(2, negated=(0,))
    has_empty = True


class TestPairwise(LogicConformance):
    structure = sp.Pairwise()
    has_empty = True
    sizes = (3, 3)


def allowed(theta: Tensor, factor: LogicFactor) -> Tensor:
    """The assignments without the variables that `theta` (n,) forbids."""
    columns = factor.indicator(factor.enumerate(len(theta)))
    return columns[(columns[:, theta == -torch.inf] == 0).all(-1)]


@pytest.mark.parametrize("factor", COUNTS, ids=str)
@settings(deadline=None, max_examples=30)
@given(
    n=st.integers(3, 6),
    kind=st.sampled_from(KINDS),
    scale=st.sampled_from((0.3, 1.0, 5.0)),
    seed=st.integers(0, 2**32 - 1),
)
def test_projection(factor: LogicFactor, n: int, kind: str, scale: float, seed: int) -> None:
    scores = scale * draw_scores(kind, 3, (n,), seed)
    for theta, x in zip(scores, factor.project(scores), strict=True):
        columns = allowed(theta, factor)
        if len(columns):
            nearest = project(theta.nan_to_num(neginf=0.0), columns)
            torch.testing.assert_close(x, nearest, rtol=0, atol=1e-12)


@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_projection_onto_pairs(kind: str, seed: int) -> None:
    """No assignment has an advantage at the result."""
    pair = sp.Pairwise()
    scores = 2 * draw_scores(kind, 20, (3,), seed)
    x = pair.project(scores)
    a, b, both = x.unbind(-1)
    shares = torch.stack([1 - a - b + both, a - both, b - both, both])
    assert (shares >= -1e-12).all()
    slope = scores - x * torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
    slope = slope.masked_fill(scores == -torch.inf, -1e3)
    columns = pair.indicator(pair.enumerate(3))
    highest = (columns @ slope.T).amax(0)
    torch.testing.assert_close((x * slope).sum(-1), highest, rtol=0, atol=1e-12)


@pytest.mark.parametrize("factor", COUNTS, ids=str)
def test_face_is_the_jacobian(factor: LogicFactor) -> None:
    scores = draw_scores("normal", 20, (5,), seed=0)
    step = 1e-6 * torch.eye(5, dtype=torch.float64)
    for theta in scores:
        moved = factor.project(theta + step) - factor.project(theta - step)
        face = factor.face(factor.project(theta[None]))[0]
        torch.testing.assert_close(face, moved / 2e-6, rtol=0, atol=1e-8)


def test_face_of_a_pair_holds_its_directions() -> None:
    """The projector of a face: symmetric, idempotent, and it keeps small moves within the face."""
    pair = sp.Pairwise()
    scores = draw_scores("normal", 200, (3,), seed=0)
    x, moved = pair.project(scores), pair.project(scores + 1e-7)
    face = pair.face(x)
    torch.testing.assert_close(face, face.mT)
    torch.testing.assert_close(face @ face, face)
    change = (moved - x)[:, :, None]
    torch.testing.assert_close(face @ change, change, rtol=0, atol=1e-14)


def test_counts_in_closed_form() -> None:
    n = 6
    counts = [sp.Xor(), sp.AtMostOne(), sp.Or(), sp.Budget(2), sp.Budget(9)]
    assert [factor.count(n) for factor in counts] == [6, 7, 63, 22, 64]
    assert sp.Xor(negated=(0, 3)).count(n) == 6
    assert (sp.Implies().count(2), sp.Pairwise().count(3)) == (3, 4)


def test_pair_is_its_own_sparsemap() -> None:
    scores = draw_scores("normal", 50, (3,), seed=1)
    marginals = sp.sparsemap(scores, sp.Pairwise()).marginals
    torch.testing.assert_close(marginals, sp.Pairwise().project(scores), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("factor", "n", "message"),
    [
        (sp.Xor(negated=(3,)), 3, "negated position 3 is not one of 3 variables"),
        (sp.Implies(), 3, "expected two variables, got 3"),
        (sp.Pairwise(), 2, r"three variables \(a, b, both\), got 2"),
    ],
)
def test_bad_sizes_are_named(factor: LogicFactor, n: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        factor.argmax(torch.zeros(1, n))


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="k must be at least 0, got -1"):
        sp.Budget(-1)
    with pytest.raises(ValueError, match="all instances have the same size"):
        sp.Xor().argmax(torch.zeros(2, 3), torch.tensor([3, 2]))
    with pytest.raises(ValueError, match="1 to 16 variables, got n = 17"):
        sp.Or().enumerate(17)


@pytest.mark.parametrize("factor", [sp.Xor(), sp.AtMostOne()], ids=str)
def test_large_scores_keep_their_differences(factor: LogicFactor) -> None:
    theta = torch.tensor([[0.25, 0.0, 0.5]], dtype=torch.float64)
    near = sp.Xor().project(theta)
    far = factor.project(theta + 2.0**40)
    torch.testing.assert_close(far, near, rtol=0, atol=1e-15)
    torch.testing.assert_close(factor.face(far), factor.face(near))


def test_a_large_score_takes_no_digits_from_the_others() -> None:
    theta = torch.tensor([[2.0**60, 0.75, 0.5, 1.0]], dtype=torch.float64)
    found = sp.Budget(2).project(theta)
    rest = sp.Xor().project(theta[:, 1:])
    torch.testing.assert_close(found, torch.cat([torch.ones_like(rest[:, :1]), rest], -1))
