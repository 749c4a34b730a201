"""Checks of the input that do not depend on the structure: a ValueError says what and where."""

import math

import torch
from torch import Tensor

from spinney import _lengths


def check_scores(scores: Tensor) -> None:
    """A floating tensor with a batch dimension; no pass over the values."""
    if not isinstance(scores, Tensor) or not scores.is_floating_point():
        kind = scores.dtype if isinstance(scores, Tensor) else type(scores).__name__
        raise ValueError(f"scores: expected a tensor of a floating dtype, got {kind}")
    if scores.ndim < 2:
        raise ValueError(f"scores: expected (B, *parts), got shape {tuple(scores.shape)}")


def check_lengths(lengths: Tensor | None, scores: Tensor) -> Tensor | None:
    """`lengths` as int64 on the device of `scores`. The structure checks their range."""
    if lengths is None:
        return None
    _lengths.check_lengths(lengths, len(scores))
    return lengths.to(scores.device, torch.int64)


def check_temperature(temperature: float | Tensor, scores: Tensor) -> float | Tensor:
    """A positive, finite number, or one per instance as (B,) on the device of `scores`.

    The values of a tensor are left to `check_positive`.
    """
    if not isinstance(temperature, Tensor):
        if not (math.isfinite(temperature) and temperature > 0):
            raise ValueError(f"temperature must be positive and finite, got {temperature}")
        return float(temperature)
    batch = scores.shape[:1]
    if temperature.ndim == 0:
        temperature = temperature.expand(batch)
    if temperature.shape != batch:
        raise ValueError(
            f"temperature: expected a number or shape ({len(scores)},) for scores of shape "
            f"{tuple(scores.shape)}, got {tuple(temperature.shape)}"
        )
    return temperature.to(scores.device)


def check_positive(temperature: Tensor) -> None:
    """Every temperature is positive and finite."""
    bad = ~((temperature > 0) & temperature.isfinite())
    if bad.any():
        b = int(bad.nonzero()[0])
        raise ValueError(
            f"temperature[{b}] must be positive and finite, got {float(temperature[b])}"
        )


def check_limits(tol: float, max_active: int | None, max_iter: int | None) -> None:
    """A tolerance of at least 0, and caps of at least 1 where they are given."""
    if not tol >= 0:
        raise ValueError(f"tol must be at least 0, got {tol}")
    for name, cap in (("max_active", max_active), ("max_iter", max_iter)):
        if cap is not None and cap < 1:
            raise ValueError(f"{name} must be at least 1 or None, got {cap}")


def check_finite(scores: Tensor, reads: Tensor) -> None:
    """No NaN and no +inf among the parts that are read; -inf forbids a part and is fine."""
    bad = reads & (scores.isnan() | (scores == torch.inf))
    if bad.any():
        index = tuple(bad.nonzero()[0].tolist())
        raise ValueError(
            f"scores[{', '.join(map(str, index))}] is {float(scores[index])} (instance {index[0]}, "
            f"part {index[1:]}, scores of shape {tuple(scores.shape)}): expected finite scores, "
            "or -inf to forbid a part"
        )
