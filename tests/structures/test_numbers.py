"""Families whose parts are numbers."""

from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.oracle_error import OracleValueError
from sparsewood.testing import StructureConformance, draw_scores, exact_gradient
from tests.fuzz.family import Family

T = torch.tensor([-1.0, -0.5, 0.0, 0.5, 1.0, 1.5])
POINTS = torch.stack([T, T**2, T**3], 1).double()  # in convex position; one uses no part


class Curve(sp.Custom, binary=False, parts_ndim=1):
    """Six points of a curve, times a unit. Parts: their coordinates. Event: the number of one."""

    def __init__(self, unit: float = 1.0) -> None:
        self.points = unit * POINTS

    def best(self, scores: Tensor) -> Tensor:
        terms = torch.where(self.points != 0, scores * self.points, 0.0)
        banned = ((self.points != 0) & (scores == -torch.inf)).any(-1)
        return terms.sum(-1).masked_fill(banned, -torch.inf).argmax()

    def parts(self, structure: Tensor) -> Tensor:
        if not 0 <= structure < len(self.points):
            raise ValueError(f"no point {int(structure)}")
        return self.points[structure]

    def check(self, shape: tuple[int, ...]) -> None:
        if shape != (3,):
            raise ValueError(f"expected 3 scores, got {shape}")

    def enumerate(self, n: int) -> Tensor:
        return torch.arange(len(self.points))


class Batched(sp.Structure):
    """The same without checks, and with the default `contains`."""

    parts_ndim = 1
    binary = False

    def __init__(self, points: Tensor = POINTS) -> None:
        self.points = points

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        return (scores.double() @ self.points.T).argmax(-1)

    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        return self.points[structures]

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        if scores.ndim != 2 or scores.shape[1] != 3:
            raise ValueError(f"scores: expected (B, 3), got {tuple(scores.shape)}")


FUZZED = [
    Family(
        "curve",
        Curve(),
        ((3,),),
        lambda n: (n,),
        lengths=0,
        summed=False,
        make="tests.structures.test_numbers.Curve()",
    )
]


@pytest.mark.full
class TestCurve(StructureConformance):
    structure = Curve()
    sizes = (3, 3)
    has_empty = True
    shape = staticmethod(lambda n: (n,))


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**-13, 2.0**14, 2.0**40])
def test_the_unit_of_measurement_does_not_matter(unit: float) -> None:
    """Scores and parts in another unit give the same weights, and marginals in that unit."""
    scores = draw_scores("normal", 20, (3,), seed=0).requires_grad_()
    plain = sp.sparsemap(scores, Curve())
    post = sp.sparsemap(unit * scores, Curve(unit))
    assert post.converged.all()
    assert torch.equal(post.structures, plain.structures)
    torch.testing.assert_close(post.weights, plain.weights, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(post.marginals, unit * plain.marginals, rtol=1e-9, atol=1e-9 * unit)
    slopes = [
        torch.autograd.grad(one.expect(one.structures.double() ** 2).sum(), scores)[0]
        for one in (post, plain)
    ]
    torch.testing.assert_close(*slopes, rtol=1e-6, atol=1e-8)


def test_the_gradient_is_exact() -> None:
    scores = draw_scores("normal", 5, (3,), seed=1).requires_grad_()
    post = sp.sparsemap(scores, Curve())
    exact = exact_gradient(
        scores, Curve(), lambda parts: parts.square().sum(-1), "sparsemap", support=post
    )
    value = post.expect(post.parts.square().sum(-1))
    torch.testing.assert_close(value, exact.value)
    (slope,) = torch.autograd.grad(value.sum(), scores)
    torch.testing.assert_close(slope, exact.gradient)


def test_at_most_so_many_structures() -> None:
    scores = draw_scores("normal", 8, (3,), seed=2).requires_grad_()
    post = sp.sparsemap(
        scores, Curve(), temperature=4.0, max_support=2, temperature_gradient="scores"
    )
    assert post.converged.all()
    assert (post.sizes <= 2).all()
    assert (post.temperature < 4.0).any()

    def infer(x: Tensor) -> Tensor:
        options: dict[str, Any] = {"max_support": 2, "temperature_gradient": "scores"}
        return sp.sparsemap(x, Curve(), temperature=4.0, **options).marginals

    assert torch.autograd.gradcheck(infer, scores[:2].detach().requires_grad_())


def test_the_path_ends_at_the_posterior() -> None:
    for row in draw_scores("normal", 5, (3,), seed=3):
        path = sp.temperature_path(row, Curve(), temperature=2.0)
        assert isinstance(path, sp.TemperaturePath)
        wanted = sp.sparsemap(row, Curve(), temperature=2.0)
        torch.testing.assert_close(path.at(2.0).marginals, wanted.marginals)


def test_members_without_contains_are_found() -> None:
    structure = Batched()
    assert structure.contains(torch.arange(6), (3,)).all()
    assert torch.equal(structure.decode(POINTS), torch.arange(6))
    inside = torch.cat([POINTS, POINTS[:2].mean(0, keepdim=True)])
    assert structure.__class__(inside).contains(torch.arange(7), (3,)).tolist() == [True] * 6 + [
        False
    ]


def test_numbers_that_are_not_finite_are_refused() -> None:
    for value in (torch.nan, torch.inf, -torch.inf):
        broken = Curve()
        broken.points = POINTS.clone()
        broken.points[5, 2] = value

        class Last(Curve):
            def best(self, scores: Tensor) -> Tensor:
                return torch.tensor(5 if scores[0] > 1 else 0)

        last = Last()
        last.points = broken.points
        with pytest.raises(
            OracleValueError, match="instance 1: parts returned a number that is not"
        ):
            sp.sparsemap(torch.tensor([[0.0, 0, 0], [2.0, 0, 0]]), last)
        with pytest.raises(ValueError, match=r"instance 1: .*indicator returned a number"):
            sp.sparsemap(torch.tensor([[0.0, 0, 0], [9.0, 9.0, 9.0]]), Other(broken.points))


class Other(Batched):
    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        return torch.where(scores[:, 0] > 1, 5, 0)


def test_zeros_and_ones_are_the_default() -> None:
    class Wrong(Curve, binary=True):
        pass

    with pytest.raises(RuntimeError, match=r"other than 0 and 1, which need .*binary=False"):
        sp.sparsemap(torch.full((1, 3), 5.0), Wrong())  # the best point is not 0/1


def test_a_factor_graph_refuses_numbers() -> None:
    graph = sp.FactorGraph()
    with pytest.raises(ValueError, match="variables are 0 or 1, but the parts of"):
        graph.add(sp.Rankings(), graph.variables(3))


def test_max_marginals_take_the_most_of_a_part() -> None:
    scores = draw_scores("normal", 4, (3,), seed=5)
    found = sp.max_marginals(scores, Curve())
    for part in range(3):
        most = POINTS[POINTS[:, part] == POINTS[:, part].max()]
        torch.testing.assert_close(found[:, part], (scores @ most.T).amax(-1))


@pytest.mark.parametrize(
    "estimator",
    [
        sp.SparseMAP(), sp.StraightThrough(), sp.IMLE(), sp.AIMLE(), sp.Perturbed(), sp.Blackbox(),
        sp.Spigot(), sp.MAP(),
    ],
)  # fmt: skip
def test_estimators_that_need_the_oracle_alone(estimator: sp.Estimator) -> None:
    scores = draw_scores("normal", 3, (3,), seed=6).requires_grad_()
    post = estimator(scores, Curve(), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(post.parts.detach(), POINTS[post.structures])
    if estimator.gradient_through != "none":
        loss = post.expect(post.parts.sum(-1) ** 2).sum()
        assert torch.autograd.grad(loss, scores)[0].isfinite().all()
