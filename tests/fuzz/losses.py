"""The four losses and their gradients against enumeration."""

from typing import Any

import numpy as np
import torch

import sparsewood as sp
from tests.fuzz.attempt import attempt, given, number
from tests.fuzz.case import BrokenError, Case
from tests.fuzz.members import Instance, Long, Longs

_LOSSES = {
    "crf": sp.crf_loss,
    "hinge": sp.hinge_loss,
    "perceptron": sp.perceptron_loss,
    "sparsemap": sp.sparsemap_loss,
}


def check_crf(case: Case) -> None:
    _check(case, "crf")


def check_hinge(case: Case) -> None:
    _check(case, "hinge")


def check_perceptron(case: Case) -> None:
    _check(case, "perceptron")


def check_sparsemap(case: Case) -> None:
    _check(case, "sparsemap")


def _check(case: Case, name: str) -> None:
    rng = case.rng
    case.scores = case.scores.detach().requires_grad_()
    wrong = case.wrong
    if name == "crf" and not case.family.summed:
        wrong = "a family without a sum"
    gold, numbers = draw_gold(case)
    options: dict[str, Any] = given(case)
    margin = 0.0
    if name in ("hinge", "sparsemap"):
        margin = float(rng.choice([0.0, 0.5, 1.0]))
        if case.family.structure.costs_only and margin > 0:  # scores may become positive
            margin, wrong = (margin, "a margin for costs") if name == "hinge" else (0.0, wrong)
        options["margin"] = margin
    reduction = options["reduction"] = str(rng.choice(["none", "sum", "mean"]))
    structure = case.family.structure
    loss = attempt(wrong, lambda: _LOSSES[name](case.scores, gold, structure, **options))
    if loss.dtype != case.scores.dtype:
        raise BrokenError("the dtype is not that of the scores", loss.dtype)
    if len(case) == 0:
        return
    (gradient,) = attempt(None, lambda: torch.autograd.grad(loss.sum(), case.scores))
    count = len(case) if reduction == "mean" else 1
    slope = number(gradient.flatten(1)) * count
    values, close = [], 0.0
    for b, one in enumerate(case.instances):
        target = one.members.long[numbers[b]]
        augmented = case.instance(b, case.theta[b] + margin * (1 - target))
        point = slope[b] + target
        value, allowed = _CHECKS[name](case, one, augmented, target, point)
        value -= margin * float((1 - target) @ target)  # 0 for 0/1 parts
        if not np.isfinite(slope[b]).all() or (slope[b][~case.reads[b]] != 0).any():
            raise BrokenError("the gradient is NaN, or reaches the padding", slope[b].tolist())
        values.append(value)
        close += allowed + 4 * case.epsilon * (abs(value) + 1)
    _check_value(loss, values, reduction, close)


def _check_value(loss: torch.Tensor, values: list[float], reduction: str, close: float) -> None:
    found = np.atleast_1d(number(loss))
    wanted = {"none": values, "sum": [sum(values)], "mean": [sum(values) / len(values)]}[reduction]
    for mine, truth in zip(found, wanted, strict=True):
        if abs(truth) > torch.finfo(loss.dtype).max:
            continue
        if not abs(mine - truth) <= close:
            raise BrokenError("the loss is off", f"{mine}, expected {truth}, allowed {close}")


def draw_gold(case: Case) -> tuple[torch.Tensor, list[int]]:
    """Gold structures (B, *event) without forbidden parts, and their indices."""
    events, numbers = [], []
    for b, inner in enumerate(case.inner):
        members = case.family.members(inner, case.outer)
        usable = np.arange(len(members))
        if case.wrong is None:
            usable = usable[case.instances[b].usable]
        numbers.append(int(usable[case.rng.integers(len(usable))]))
        events.append(members.events[numbers[-1]])
    if not events:
        members = case.family.members(case.outer, case.outer)
        return torch.from_numpy(members.events[:0]), []
    return torch.from_numpy(np.stack(events)), numbers


def _crf(
    case: Case, one: Instance, augmented: Instance, target: Longs, point: np.ndarray
) -> tuple[float, float]:
    allowed = one.sums_noise(case.epsilon)
    if not np.abs(point - one.marginals.astype(float)).max() <= allowed + 4 * case.epsilon:
        raise BrokenError("the gradient is not marginals - gold", point.tolist())
    return float(one.log_z - one.theta @ target), allowed + one.noise


def _hinge(
    case: Case, one: Instance, augmented: Instance, target: Longs, point: np.ndarray
) -> tuple[float, float]:
    best = float(augmented.totals.max())
    used = np.abs(point - one.members.columns).max(-1) <= 8 * case.epsilon * one.members.largest
    if not (used.any() and best - float(augmented.totals[used].max()) <= 2 * augmented.noise):
        raise BrokenError("the gradient is not that of a best structure", point.tolist())
    return best - float(one.theta @ target), 2 * augmented.noise


def _sparsemap(
    case: Case, one: Instance, augmented: Instance, target: Longs, point: np.ndarray
) -> tuple[float, float]:
    u = np.where(np.abs(point) < 1e-14, 0.0, point).astype(Long)
    slots = one.members.slots
    rounding = 4 * case.epsilon * slots * (augmented.magnitude + slots) + augmented.noise
    gap = augmented.gap(u)
    if not gap <= 1e-9 * augmented.unit + 2 * rounding:
        raise BrokenError("the gradient is not SparseMAP marginals - gold", f"gap {gap}")
    if not one.members.off_hull(point) <= 1e-9 + 8 * case.epsilon * slots:
        raise BrokenError("the gradient is not that of a point of the polytope", point.tolist())
    value = augmented.objective(u) - one.objective(target)
    return value, 1e-9 * augmented.unit + 2 * rounding


_CHECKS = {"crf": _crf, "hinge": _hinge, "perceptron": _hinge, "sparsemap": _sparsemap}
