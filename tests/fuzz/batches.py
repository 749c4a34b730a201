"""Any batch dimensions: results bit-identical to the flattened batch."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import sparsewood as sp
from tests.fuzz.attempt import attempt, given
from tests.fuzz.best import has_kbest
from tests.fuzz.case import BrokenError, Case
from tests.fuzz.losses import draw_gold

# By the number of instances.
_SHAPES: dict[int, list[tuple[int, ...]]] = {
    0: [(0, 2), (3, 0), (1, 0, 1)],
    1: [(), (1, 1), (1, 1, 1)],
    2: [(2, 1), (1, 2), (1, 2, 1)],
    3: [(3, 1), (1, 3)],
}

Call = Callable[[Tensor, dict[str, Any], Tensor], list[Tensor]]  # every result by instance first


def check_posteriors(case: Case) -> None:
    """Calls that take a temperature."""
    _check(case, _posterior_calls(case))


def check_answers(case: Case) -> None:
    """The others."""
    _check(case, _answer_calls(case))


def _check(case: Case, calls: dict[str, Call]) -> None:
    shapes = _SHAPES[len(case)]
    batch = shapes[case.rng.integers(len(shapes))]
    if case.wrong is not None and len(case) == 0:
        batch = (0,)  # what has two entries too many is right for a batch of shape (2, 0)
    name = list(calls)[case.rng.integers(len(calls))]

    def shape(value: Any) -> Any:
        if not isinstance(value, Tensor) or value.shape[:1] != (len(case),):
            return value
        return value.reshape((*batch, *value.shape[1:]))

    options, gold = given(case), draw_gold(case)[0]
    shaped = {name: shape(value) for name, value in options.items()}
    found = attempt(case.wrong, lambda: calls[name](shape(case.scores), shaped, shape(gold)))
    wanted = attempt(None, lambda: calls[name](case.scores, options, gold))
    for one, flat in zip(found, wanted, strict=True):
        if one.shape != (*batch, *flat.shape[1:]):
            raise BrokenError("not in the shape of the batch", f"{name}: {tuple(one.shape)}")
        if not torch.equal(one.flatten().nan_to_num(), flat.flatten().nan_to_num()):
            raise BrokenError("not what the flattened batch gives", f"{name}, batch {batch}")


def _posterior_calls(case: Case) -> dict[str, Call]:
    structure = case.family.structure

    def sparsemap(scores: Tensor, options: dict[str, Any], gold: Tensor) -> list[Tensor]:
        post = sp.sparsemap(scores, structure, **options)
        return [post.marginals, post.sizes, post.gap, post.status, post.mode, post.entropy()]

    def marginals(scores: Tensor, options: dict[str, Any], gold: Tensor) -> list[Tensor]:
        dist = sp.marginals(scores, structure, **options)
        drawn = dist.sample(2, generator=torch.Generator().manual_seed(0))[0]
        return [dist.log_partition, dist.marginals, dist.entropy(), dist.log_prob(gold), drawn]

    return {"sparsemap": sparsemap, **({"marginals": marginals} if case.family.summed else {})}


def _answer_calls(case: Case) -> dict[str, Call]:
    structure = case.family.structure

    def best(scores: Tensor, options: dict[str, Any], gold: Tensor) -> list[Tensor]:
        return list(sp.map(scores, structure, **options))

    def kbest(scores: Tensor, options: dict[str, Any], gold: Tensor) -> list[Tensor]:
        return list(sp.kbest(scores, structure, 3, **options))

    def loss(scores: Tensor, options: dict[str, Any], gold: Tensor) -> list[Tensor]:
        return [sp.sparsemap_loss(scores, gold, structure, reduction="none", **options)]

    return {"map": best, "loss": loss, **({"kbest": kbest} if has_kbest(case.family) else {})}
