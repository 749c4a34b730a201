r"""Derivatives of SparseMAP with `max_support`, which lowers the temperature.

T* is the temperature at which a structure h ties with the support S, i.e. at which its advantage

    <scores / T - D u(T), delta> = <v, scores> / T - c,      delta = m_h - m_first,
    v = delta - M_S J M_S^T D delta,      c = <D M_S K^-1 1, delta> / (1^T K^-1 1)

is 0 (J and K as in `_derivatives`). So `T* = <v, scores> / c`, linear in the scores as long as S
and h stay the same. If the given temperature was reached, T* equals it.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from sparsewood._internal.transforms import is_transformed, on_values
from sparsewood.inference._derivatives import differentiable, jacobian, usable
from sparsewood.inference._solution import Solution

TemperatureGradient = Literal["constant", "scores"]


def cooled(
    solve: Callable[[Tensor, Tensor], Solution],
    scores: Tensor,
    temperature: Tensor,
    penalised: Tensor | None,
    gradient: TemperatureGradient,
) -> Solution:
    """`solve(scores, temperature)`, which may lower the temperature, with derivatives.

    Args:
        solve: called on plain values.
        scores: (B, *parts).
        temperature: (B,) float64, the given temperature.
        penalised: (*parts) bool, or None: all parts are.
        gradient: treat T* as a constant, or as a function of the scores; then
            `Solution.temperature` also has a gradient.
    """
    learns = torch.is_grad_enabled() and (scores.requires_grad or temperature.requires_grad)
    if not (learns or is_transformed(scores, temperature)):
        return solve(scores, temperature)
    kept: list[Solution] = []

    def values(scores: Tensor, temperature: Tensor) -> tuple[Tensor, ...]:
        with torch.no_grad():
            found = solve(scores.detach(), temperature.detach())
            kept.append(found)
            return found.temperature.clone(), *_tangent(found, scores, penalised)

    lowered, cools, v = on_values(values, scores, temperature)
    if gradient == "scores":
        lowered = (usable(scores) * v).sum(1)
    reached = torch.where(cools, lowered, temperature)
    found = differentiable(lambda *_: kept[0], scores, reached)
    return found._replace(temperature=reached) if gradient == "scores" else found


def _tangent(found: Solution, scores: Tensor, penalised: Tensor | None) -> tuple[Tensor, Tensor]:
    """Where the temperature was lowered, (B,) bool, and its gradient `v / c` (B, P), else 0."""
    none, theta = found.factor.new_zeros(found.used.shape[0]), usable(scores)
    first = found.used[found.sizes.cumsum(0) - found.sizes]
    delta = _indicator(found.tie, theta) - _indicator(first, theta)
    kept = delta if penalised is None else delta * penalised.flatten().to(delta)
    v = delta - jacobian(found.used, found.sizes, found.factor, none, kept)[1]
    numbers = found.tie.is_floating_point()
    cools = ~found.tie.isnan().any(1) if numbers else (found.tie >= 0).any(1)
    c = (theta * v).sum(1) / found.temperature
    return cools, torch.where(cools[:, None], v / torch.where(cools, c, 1)[:, None], 0)


def _indicator(parts: Tensor, like: Tensor) -> Tensor:
    """Parts as in `Solution.tie`, as (B, P)."""
    if parts.is_floating_point():
        return parts.nan_to_num(0.0)
    table = like.new_zeros(len(like), like.shape[1] + 1)
    return table.scatter_(1, parts % (like.shape[1] + 1), 1.0)[:, :-1]
