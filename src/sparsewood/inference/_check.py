"""Checks of the input that do not depend on the structure; they raise ValueError."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from sparsewood._internal import lengths as _lengths
from sparsewood._internal.batch import BatchShape, given_shape, name_entry, name_instance
from sparsewood._internal.host import as_int64
from sparsewood._internal.numbers import LARGEST, check_dense, check_real, check_whole
from sparsewood.structures.base import NativeStructure, Structure
from sparsewood.structures.factor_graph import FactorGraph


def check_structure(structure: Any) -> None:
    """Require a family of structures: an instance, not its class."""
    if not isinstance(structure, Structure):
        kind = f"the class {structure.__name__}" if isinstance(structure, type) else repr(structure)
        raise ValueError(
            f"structure: expected a Structure such as DependencyTrees(), got {kind}; "
            "pass a FactorGraph to lp_sparsemap or sparsemap_loss"
        )


def check_any_sign(call: str, structure: Structure) -> None:
    """Require an oracle for scores of any sign."""
    if structure.costs_only:
        raise ValueError(
            f"{call}: {structure} finds best structures only for scores of at most 0 (costs), but "
            f"{call} needs them for other scores"
        )


def check_scores(scores: Tensor) -> None:
    """Require a dense floating tensor; does not look at values."""
    if not isinstance(scores, Tensor) or not scores.is_floating_point():
        kind = scores.dtype if isinstance(scores, Tensor) else type(scores).__name__
        raise ValueError(f"scores: expected a tensor of a floating dtype, got {kind}")
    check_dense("scores", scores)


class Flat(NamedTuple):
    """The input of a call, flattened to one batch dimension."""

    batch: BatchShape  # the original batch shape
    scores: Tensor  # (B, *parts)
    lengths: Tensor | None  # (B,) or (B, d) int64 on the device of the scores


def check_input(scores: Tensor, structure: Structure, lengths: Tensor | None) -> Flat:
    """The checks that all inference functions share; they do not look at values.

    Args:
        scores: (*batch, *parts), with exactly one batch dimension if `structure.parts_ndim` is
            None.
        structure: the family of structures.
        lengths: (*batch,), (*batch, d) or None. The last batch dimensions may be omitted; lengths
            are then shared along them. The structure checks the range.
    """
    check_scores(scores)
    check_structure(structure)
    batch = _batch_of(scores, structure)
    if lengths is not None:
        check_dense("lengths", lengths)
        sizes = structure.full_size(tuple(scores.shape[len(batch.shape) :]))
        sizes = None if sizes is None else len(sizes)
        lengths = _lengths.shared_lengths(lengths, batch.shape, sizes)
        lengths = batch.flatten("lengths", lengths)
    scores = batch.flatten("scores", scores)
    with batch:
        if lengths is not None and not isinstance(structure, NativeStructure):
            _lengths.check_lengths(lengths, len(scores))  # their `validate` may be a user's
        structure.validate(scores, lengths)
        if lengths is not None:
            lengths = as_int64(lengths, scores.device)
    return Flat(batch, scores, lengths)


def check_graph(scores: Tensor, graph: FactorGraph) -> Flat:
    """Require a factor graph, and scores (*batch, V) or (*batch, *shape) for its variables."""
    if not isinstance(graph, FactorGraph):
        raise ValueError(f"graph: expected a FactorGraph, got {graph!r}")
    size = len(graph)
    if size == 0:
        raise ValueError("graph: expected at least one variable, got none")
    check_scores(scores)
    whole = graph.shapes[0] if len(graph.shapes) == 1 else ()
    shape, wanted = tuple(scores.shape), [parts for parts in (whole, (size,)) if parts]
    fitting = [len(parts) for parts in wanted if shape[-len(parts) :] == parts]
    if not fitting:
        either = " or ".join(f"(*batch, {', '.join(map(str, parts))})" for parts in wanted[::-1])
        raise ValueError(f"scores: expected {either} for {graph}, got shape {shape}")
    # With one row of variables, scores of one sentence may match both shapes.
    ndim = next((ndim for ndim in fitting if ndim < len(shape)), fitting[0])
    batch = BatchShape(scores.shape[: scores.ndim - ndim])
    return Flat(batch, batch.flatten("scores", scores), None)


def _batch_of(scores: Tensor, structure: Structure) -> BatchShape:
    """The batch shape: the dimensions before the parts. Each dimension of the parts is nonempty."""
    shape, parts = scores.shape, structure.parts_ndim
    if scores.ndim < (2 if parts is None else parts):
        wanted = (
            "(B, *parts)" if parts is None else f"(*batch, *parts) with parts of {parts} dimensions"
        )
        raise ValueError(f"scores: expected {wanted} for {structure}, got shape {tuple(shape)}")
    count = 1 if parts is None else scores.ndim - parts
    if 0 in shape[count:]:
        raise ValueError(f"scores: expected at least one part, got shape {tuple(shape)}")
    return BatchShape(shape[:count])


def check_temperature(
    temperature: float | Tensor, scores: Tensor, batch: BatchShape
) -> float | Tensor:
    """Require a positive, finite number, or one per instance: (B,) on the device of `scores`.

    A tensor may have any shape that expands to the batch shape. `check_positive` checks its values.
    """
    if not isinstance(temperature, Tensor):
        return check_real("temperature", temperature, positive=True)
    check_dense("temperature", temperature)
    if temperature.is_complex() or temperature.dtype == torch.bool:
        raise ValueError(f"temperature: expected real numbers, got {temperature.dtype}")
    given, shape = temperature.shape, batch.shape
    sizes = zip(reversed(given), reversed(shape), strict=False)
    if len(given) > len(shape) or any(size != 1 and size != whole for size, whole in sizes):
        raise ValueError(
            f"temperature: expected a number or shape {tuple(shape)} for scores of shape "
            f"{(*shape, *scores.shape[1:])}, got {tuple(given)}"
        )
    return batch.flatten("temperature", temperature.expand(shape)).to(scores.device)


def check_positive(temperature: Tensor) -> None:
    """Require positive and finite temperatures."""
    bad = ~((temperature > 0) & temperature.isfinite())
    if bad.any():
        b = int(bad.nonzero()[0])
        raise ValueError(
            f"{name_entry('temperature', (b,), len(temperature))} must be positive and finite, "
            f"got {float(temperature[b].detach())}"
        )


def check_cap(name: str, cap: int | None) -> int | None:
    """Require a cap of at least 1, or None."""
    return None if cap is None else check_whole(name, cap)


def no_structures(scores: Tensor, structure: Structure) -> Tensor:
    """(0, *event), the structures of an empty batch; the shape comes from a made-up instance."""
    event = structure.argmax(scores.new_zeros(1, *scores.shape[1:])).shape[1:]
    return scores.new_zeros(0, *event, dtype=torch.int64)


def no_structure_left(instance: int, scores: Tensor) -> ValueError:
    """The error for an instance all of whose structures use a forbidden part."""
    return ValueError(
        f"{name_instance(instance, len(scores))} has no structure left: each uses a part that is "
        f"forbidden (-inf) (scores of shape {given_shape(scores.shape)})"
    )


def _where(index: tuple[int, ...], table: Tensor) -> str:
    """An entry of `table` (B, *parts) by its instance and part."""
    instance = name_instance(index[0], len(table))
    return f"{instance}, part {index[1:]}, scores of shape {given_shape(table.shape)}"


def check_values(scores: Tensor, reads: Tensor) -> None:
    """Require scores that are -inf, or finite and small enough to be summed, where read."""
    check_finite(scores, reads)
    check_magnitude(scores, reads & (scores != -torch.inf))


def check_finite(scores: Tensor, reads: Tensor) -> None:
    """Reject NaN and +inf at parts that are read; -inf forbids a part and is allowed."""
    bad = reads & (scores.isnan() | (scores == torch.inf))
    if bad.any():
        index = tuple(bad.nonzero()[0].tolist())
        raise ValueError(
            f"{name_entry('scores', index, len(scores))} is {float(scores[index].detach())} "
            f"({_where(index, scores)}): "
            "expected finite scores, or -inf to forbid a part"
        )


def check_magnitude(theta: Tensor, reads: Tensor) -> None:
    """Reject scores / temperature above 1e200 in magnitude, so that sums stay finite.

    Args:
        theta: (B, *parts), `scores / temperature`; any value where `reads` is False.
        reads: bool, same shape, parts that are read and not forbidden. Needed to distinguish
            finite scores that overflowed to -inf from forbidden parts.
    """
    bad = reads & ~(theta.abs() <= LARGEST)
    if bad.any():
        index = tuple(bad.nonzero()[0].tolist())
        size = float(theta[index].detach())
        raise ValueError(
            f"{name_entry('scores', index, len(theta))} / temperature is {size:.3g} "
            f"({_where(index, theta)}): expected a magnitude of at most {LARGEST:.0e}"
        )
