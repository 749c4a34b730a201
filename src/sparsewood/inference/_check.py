"""Checks of the input that do not depend on the structure: a ValueError says what and where."""

from typing import Any

import torch
from torch import Tensor

from sparsewood import _lengths
from sparsewood._numbers import LARGEST, check_dense, check_real, check_whole
from sparsewood.structures.base import Structure


def check_structure(structure: Any) -> None:
    """A family of structures: an instance, not its class."""
    if not isinstance(structure, Structure):
        kind = f"the class {structure.__name__}" if isinstance(structure, type) else repr(structure)
        raise ValueError(
            f"structure: expected a Structure such as DependencyTrees(), got {kind}; "
            "a FactorGraph is for lp_sparsemap and sparsemap_loss"
        )


def check_scores(scores: Tensor) -> None:
    """A floating tensor with a batch dimension; no pass over the values."""
    if not isinstance(scores, Tensor) or not scores.is_floating_point():
        kind = scores.dtype if isinstance(scores, Tensor) else type(scores).__name__
        raise ValueError(f"scores: expected a tensor of a floating dtype, got {kind}")
    check_dense("scores", scores)
    if scores.ndim < 2:
        raise ValueError(f"scores: expected (B, *parts), got shape {tuple(scores.shape)}")
    if 0 in scores.shape[1:]:
        raise ValueError(f"scores: expected at least one part, got shape {tuple(scores.shape)}")


def check_lengths(lengths: Tensor | None, scores: Tensor) -> Tensor | None:
    """`lengths` as int64 on the device of `scores`. The structure checks their range."""
    if lengths is None:
        return None
    _lengths.check_lengths(lengths, len(scores))
    return lengths.to(scores.device, torch.int64)


def check_input(scores: Tensor, structure: Structure, lengths: Tensor | None) -> Tensor | None:
    """The checks of every way of inference, before it looks at values; returns `check_lengths`."""
    check_scores(scores)
    check_structure(structure)
    lengths = check_lengths(lengths, scores)
    structure.validate(scores, lengths)
    return lengths


def check_temperature(temperature: float | Tensor, scores: Tensor) -> float | Tensor:
    """A positive, finite number, or one per instance as (B,) on the device of `scores`.

    The values of a tensor are left to `check_positive`.
    """
    if not isinstance(temperature, Tensor):
        return check_real("temperature", temperature, positive=True)
    check_dense("temperature", temperature)
    if temperature.is_complex() or temperature.dtype == torch.bool:
        raise ValueError(f"temperature: expected real numbers, got {temperature.dtype}")
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
            f"temperature[{b}] must be positive and finite, got {float(temperature[b].detach())}"
        )


def check_cap(name: str, cap: int | None) -> int | None:
    """A cap of at least 1, or None."""
    return None if cap is None else check_whole(name, cap)


def no_structures(scores: Tensor, structure: Structure) -> Tensor:
    """(0, *event), the structures of no instances; a made-up one tells the shape."""
    event = structure.argmax(scores.new_zeros(1, *scores.shape[1:])).shape[1:]
    return scores.new_zeros(0, *event, dtype=torch.int64)


def no_structure_left(instance: int, scores: Tensor) -> ValueError:
    """The error for an instance all of whose structures use a forbidden part."""
    return ValueError(
        f"instance {instance} has no structure left: each uses a part that is forbidden (-inf) "
        f"(scores of shape {tuple(scores.shape)})"
    )


def check_values(scores: Tensor, reads: Tensor) -> None:
    """The scores that are read are finite and small enough to be summed, or -inf."""
    check_finite(scores, reads)
    check_magnitude(scores, reads & (scores != -torch.inf))


def check_finite(scores: Tensor, reads: Tensor) -> None:
    """No NaN and no +inf among the parts that are read; -inf forbids a part and is fine."""
    bad = reads & (scores.isnan() | (scores == torch.inf))
    if bad.any():
        index = tuple(bad.nonzero()[0].tolist())
        raise ValueError(
            f"scores[{', '.join(map(str, index))}] is {float(scores[index].detach())} "
            f"(instance {index[0]}, part {index[1:]}, scores of shape {tuple(scores.shape)}): "
            "expected finite scores, or -inf to forbid a part"
        )


def check_magnitude(theta: Tensor, reads: Tensor) -> None:
    """No score, divided by the temperature, is beyond 1e200 in size: sums of them stay finite.

    Args:
        theta: (B, *parts), `scores / temperature`, anything where `reads` is False.
        reads: bool of that shape, the parts that are read and not forbidden. A finite score that a
            small temperature turned into -inf is then told from a forbidden one.
    """
    bad = reads & ~(theta.abs() <= LARGEST)
    if bad.any():
        index = tuple(bad.nonzero()[0].tolist())
        size = float(theta[index].detach())
        raise ValueError(
            f"scores[{', '.join(map(str, index))}] / temperature is {size:.3g} "
            f"(instance {index[0]}, part {index[1:]}, scores of shape {tuple(theta.shape)}): "
            f"expected a size of at most {LARGEST:.0e}"
        )
