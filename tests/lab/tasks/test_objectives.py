"""The objectives of a reverse dictionary, candidate by candidate."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from sparsewood.lab.tasks.objectives import objective_loss


def drawn(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return normalize(torch.randn(*shape, generator=generator, dtype=torch.float64), dim=-1)


CANDIDATES, VECTORS = drawn(7, 3), drawn(9, 3)[2:6]
TARGETS = torch.tensor([0, 3, 3, 6])


def loss(objective: Any, *, draw: bool = False, negatives: int | None = None) -> Tensor:
    options: Any = {"scale": 5.0, "margin": 0.3, "negatives": negatives}
    return objective_loss(VECTORS, TARGETS, CANDIDATES, objective, **options, draw=draw)


def test_cosine_and_softmax_as_they_are_written() -> None:
    for v, y, cosine, softmax in zip(
        VECTORS, TARGETS.tolist(), loss("cosine"), loss("softmax"), strict=True
    ):
        torch.testing.assert_close(cosine, 1 - v @ CANDIDATES[y])
        scores = [float((5 * (v @ e)).exp()) for e in CANDIDATES]
        assert float((-softmax).exp()) == pytest.approx(scores[y] / sum(scores))


def test_ranking_is_a_mean_over_others_and_its_draws_have_that_mean() -> None:
    expected = []
    for v, y in zip(VECTORS, TARGETS.tolist(), strict=True):
        others = [e for c, e in enumerate(CANDIDATES) if c != y]
        terms = [max(0.0, float(0.3 - v @ CANDIDATES[y] + v @ e)) for e in others]
        expected.append(sum(terms) / len(terms))
    assert loss("ranking").tolist() == pytest.approx(expected)
    torch.manual_seed(1)
    draws = torch.stack([loss("ranking", draw=True) for _ in range(3000)])
    error = draws.std(0) / 3000**0.5
    assert ((draws.mean(0) - loss("ranking")).abs() < 4 * error + 1e-9).all()


@pytest.mark.parametrize("negatives", [2, 6])
def test_candidates_drawn_for_a_softmax_have_its_sum_as_mean(negatives: int) -> None:
    torch.manual_seed(1)
    draws = torch.stack([loss("softmax", draw=True, negatives=negatives) for _ in range(3000)])
    sums, whole = draws.exp(), loss("softmax").exp()  # of all candidates, over the right one's
    error = sums.std(0) / 3000**0.5
    assert ((sums.mean(0) - whole).abs() < 4 * error).all()
    assert (draws.std(0) > 0).all()


def test_where_all_are_drawn_or_nothing_is_the_softmax_is_whole() -> None:
    for told in (loss("softmax", draw=True, negatives=7), loss("softmax", negatives=2)):
        torch.testing.assert_close(told, loss("softmax"))


def test_gradients_of_drawn_candidates() -> None:
    vectors = VECTORS.clone().requires_grad_()

    def run(v: Tensor) -> Tensor:
        torch.manual_seed(2)
        options: Any = {"scale": 5.0, "margin": 0.3, "draw": True, "negatives": 4}
        return objective_loss(v, TARGETS, CANDIDATES, "softmax", **options)

    assert torch.autograd.gradcheck(run, [vectors])


@pytest.mark.parametrize("objective", ["softmax", "cosine", "ranking"])
def test_gradients(objective: str) -> None:
    vectors = VECTORS.clone().requires_grad_()
    options = {"scale": 5.0, "margin": 0.3, "draw": False}

    def run(v: Tensor) -> Tensor:
        return objective_loss(v, TARGETS, CANDIDATES, objective, **options)  # pyright: ignore

    assert torch.autograd.gradcheck(run, [vectors])


def test_autocast_leaves_the_softmax_its_digits() -> None:
    vectors, candidates = VECTORS.float(), CANDIDATES.float()
    with torch.autocast("cpu", torch.bfloat16):
        found = objective_loss(
            vectors, TARGETS, candidates, "softmax", scale=30.0, margin=0.1, draw=False
        )
    whole = objective_loss(
        VECTORS, TARGETS, CANDIDATES, "softmax", scale=30.0, margin=0.1, draw=False
    )
    torch.testing.assert_close(found.double(), whole, rtol=1e-5, atol=1e-5)
