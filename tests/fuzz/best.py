"""`map` and `kbest` against all structures in order of score."""

import numpy as np
import torch

import sparsewood as sp
from tests.fuzz.attempt import attempt, given, number
from tests.fuzz.case import BrokenError, Case
from tests.fuzz.family import Family
from tests.fuzz.members import Instance


def check_map(case: Case) -> None:
    best = attempt(case.wrong, lambda: sp.map(case.scores, case.family.structure, **given(case)))
    if best.structures.dtype != torch.int64:
        raise BrokenError("structures are not int64", best.structures.dtype)
    for b, one in enumerate(case.instances):
        found = one.members.find(best.structures[b].numpy())
        if found is None:
            raise BrokenError("the best is no member", best.structures[b].tolist())
        _check_total(one, float(one.totals[found]), float(one.totals.max()))
        _check_score(best.scores[b], float(one.totals[found]), one)


def has_kbest(family: Family) -> bool:
    return family.structure.has_kbest


def check_kbest(case: Case) -> None:
    k = int(case.rng.choice([1, 2, 3, 7, 40]))
    wrong = case.wrong if has_kbest(case.family) else "a family without k-best"
    found = attempt(wrong, lambda: sp.kbest(case.scores, case.family.structure, k, **given(case)))
    for b, one in enumerate(case.instances):
        _check_ranking(one, found.structures[b].numpy(), found.scores[b], k)


def _check_ranking(one: Instance, events: np.ndarray, scores: torch.Tensor, k: int) -> None:
    truth = np.sort(one.totals[one.usable])[::-1][:k]
    listed = [one.members.find(event) for event in events]
    if None in listed:
        raise BrokenError("one of the k best is no member", events[listed.index(None)].tolist())
    first = listed[: len(truth)]
    if len(set(first)) != len(first):
        raise BrokenError("one of the k best is listed twice", listed)
    for place, (number_, total) in enumerate(zip(first, truth, strict=True)):
        _check_total(one, float(one.totals[number_ or 0]), float(total))
        _check_score(scores[place], float(one.totals[number_ or 0]), one)
    rest = number(scores)[len(truth) :]
    if (rest != -np.inf).any() or any(other != first[-1] for other in listed[len(truth) :]):
        raise BrokenError("what is missing does not repeat the last with -inf", rest)


def _check_total(one: Instance, found: float, wanted: float) -> None:
    if not abs(found - wanted) <= one.noise:
        raise BrokenError("not the best", f"scores {found}, the best {wanted}")


def _check_score(found: torch.Tensor, wanted: float, one: Instance) -> None:
    """The total in the dtype of the result; infinite if it overflows."""
    rounded = float(torch.tensor(wanted, dtype=torch.float64).to(found.dtype))
    allowed = one.noise + 2 * torch.finfo(found.dtype).eps * abs(wanted)
    if float(found) != rounded and not abs(float(found) - wanted) <= allowed:
        raise BrokenError("the score is off", f"{float(found)}, expected {wanted}")
