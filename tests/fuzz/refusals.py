"""Arguments that must raise ValueError or TypeError, whatever the scores."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

import sparsewood as sp
from tests.fuzz.attempt import attempt
from tests.fuzz.case import BrokenError, Case

_NUMBERS: list[Any] = [0, -1, 1.5, "2", torch.tensor(1.5), float("nan"), 1j]
_ASTRONOMIC = [2**31, 2**62, 10**400]
_REALS: list[Any] = [-1.0, float("nan"), float("inf"), "1", 1j, 10**400]
_TEMPERATURES: list[Any] = [0.0, -1.0, float("nan"), float("inf"), 1j, "1", None, 10**400]


def _bad_scores(scores: Tensor, structure: sp.Structure) -> list[Any]:
    one_batch = structure.parts_ndim is None
    return [
        scores.long(),
        scores.bool(),
        scores.to(torch.complex64),
        scores.tolist(),
        None,
        *([scores[0], scores[:, None]] if one_batch else [scores[0, 0]]),
        scores[..., :0],
        scores[0].flatten()[0],
        scores.to_sparse(),
        scores.to("meta"),
    ]


def _bad_lengths(scores: Tensor, lengths: Tensor) -> list[Any]:
    return [
        lengths.double(),
        lengths.bool(),
        lengths.tolist(),
        lengths[:-1],
        lengths[:, None],
        lengths * 0,
        -lengths,
        lengths + scores.numel(),
        lengths + 2**40,
    ]


def _drawn(case: Case, choices: list[Any]) -> Any:
    return choices[case.rng.integers(len(choices))]


def check_caps(case: Case) -> None:
    """A huge cap has no effect, or is rejected."""
    full = case.family.shape(*case.outer)
    scores = torch.from_numpy(case.family.fit(case.rng.standard_normal((1, *full))))
    name = str(case.rng.choice(["max_active", "max_iter"]))
    options: dict[str, Any] = {name: _drawn(case, _ASTRONOMIC)}
    with suppress(ValueError, TypeError):
        post = sp.sparsemap(scores, case.family.structure, **options)
        if not post.converged.all():
            raise BrokenError("a cap out of reach binds", options)


def check_refusals(case: Case) -> None:
    """Valid scores, with one invalid argument of one call."""
    full = case.family.shape(*case.outer)
    scores = torch.from_numpy(case.family.fit(case.rng.standard_normal((2, *full))))
    structure = case.family.structure
    kind = str(case.rng.choice(["scores", "lengths", "structure", "number", "temperature", "gold"]))
    calls: list[Callable[[], object]]
    if kind == "scores":
        bad = _drawn(case, _bad_scores(scores, structure))
        calls = _on_scores(bad, structure)
    elif kind == "lengths":
        size = list(case.outer[: case.family.lengths]) or [2]
        good = torch.tensor([size, size]).squeeze(-1)
        bad = _drawn(case, _bad_lengths(scores, good))
        calls = _on_scores(scores, structure, lengths=bad)
    elif kind == "structure":
        bad = _drawn(case, [type(structure), None, "trees", sp.FactorGraph(), 3])
        calls = _on_scores(scores, bad)
    elif kind == "number":
        bad = _drawn(case, _NUMBERS)
        real = _drawn(case, _REALS)
        calls = [
            lambda: sp.sparsemap(scores, structure, max_active=bad),
            lambda: sp.sparsemap(scores, structure, max_iter=bad),
            lambda: sp.kbest(scores, structure, bad),
            lambda: sp.kbest(scores, structure, _drawn(case, _ASTRONOMIC)),
            lambda: sp.sparsemap(scores, structure, tol=real),
            lambda: sp.sparsemap(scores, structure, solver="both"),  # type: ignore[arg-type]
        ]
        if case.family.summed:
            calls.append(lambda: sp.marginals(scores, structure).sample(bad))
    elif kind == "temperature":
        bad = _drawn(case, [*_TEMPERATURES, torch.ones(3), torch.zeros(2), torch.ones(2, 1) * 1j])
        calls = [
            lambda: sp.sparsemap(scores, structure, temperature=bad),
            lambda: sp.marginals(scores, structure, temperature=bad),
        ]
    else:
        calls = _on_gold(case, scores)
    attempt(f"a wrong argument ({kind})", calls[case.rng.integers(len(calls))])


def _on_scores(scores: Any, structure: Any, **options: Any) -> list[Callable[[], object]]:
    return [
        lambda: sp.map(scores, structure, **options),
        lambda: sp.kbest(scores, structure, 2, **options),
        lambda: sp.sparsemap(scores, structure, **options),
        lambda: sp.marginals(scores, structure, **options),
        lambda: sp.sample_matchings(scores, structure, **options),
        lambda: sp.lp_sparsemap(scores, structure),
    ]


def _on_gold(case: Case, scores: Tensor) -> list[Callable[[], object]]:
    members = case.family.members(case.outer, case.outer)
    good = torch.from_numpy(members.events[:1]).repeat(2, *[1] * (members.events.ndim - 1))
    bad = _drawn(
        case,
        [good.double(), good[:1], good[None], good + 1000, good * 0 - 7, good.tolist(), None],
    )
    structure = case.family.structure
    return [
        lambda: sp.perceptron_loss(scores, bad, structure),
        lambda: sp.hinge_loss(scores, bad, structure),
        lambda: sp.sparsemap_loss(scores, bad, structure),
        lambda: sp.hinge_loss(scores, good, structure, margin=-1.0),
        lambda: sp.hinge_loss(scores, good, structure, reduction="max"),  # type: ignore[arg-type]
    ]
