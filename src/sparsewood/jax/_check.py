"""Checks of the input that need no values; they raise ValueError when jax traces a call."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch

from sparsewood.inference._check import check_input, check_temperature, no_structures
from sparsewood.structures._members import check_events
from sparsewood.structures.base import Structure


class Given(NamedTuple):
    """The input of a call."""

    scores: jax.Array  # (*batch, *parts), float32 or float64
    lengths: jax.Array | None  # (*batch,) or (*batch, d)
    temperature: jax.Array  # (*batch,), dtype of `scores`
    batch: tuple[int, ...]
    event: tuple[int, ...]  # the shape of a structure
    dtype: np.dtype[Any]  # of the results: that of the scores as given

    @property
    def parts(self) -> tuple[int, ...]:
        """The shape of the scores of an instance."""
        return self.scores.shape[len(self.batch) :]

    @property
    def ndim(self) -> int:
        """The number of dimensions of the parts."""
        return len(self.parts)


def check_given(scores: Any, structure: Structure, lengths: Any, temperature: Any = 1.0) -> Given:
    """The checks of `sparsewood` that look at shapes and dtypes. Others run when values are known.

    Args:
        scores: (*batch, *parts), floating.
        structure: the family of structures.
        lengths: integers (*batch,) or (*batch, d), or None. The last batch dimensions may be
            omitted.
        temperature: a number, or an array that broadcasts to the batch shape.
    """
    flat = check_input(_outline(scores), structure, None)
    parts = tuple(flat.scores.shape[1:])
    if lengths is not None:
        check_input(_outline(scores), structure, _outline(lengths, structure.full_size(parts)))
    divisor = check_temperature(_outline(temperature), flat.scores, flat.batch)
    if isinstance(divisor, float):
        temperature = divisor
    batch = tuple(flat.batch.shape)
    table = jnp.asarray(scores)
    dtype = table.dtype
    table = table.astype(jnp.promote_types(dtype, jnp.float32))
    if lengths is not None:
        lengths = _shared(jnp.asarray(lengths), batch, structure.full_size(parts))
    divisors = jnp.broadcast_to(jnp.asarray(temperature, table.dtype), batch)
    event = structure.event_shape(parts)
    if event is None:
        event = tuple(no_structures(torch.zeros(0, *parts), structure).shape[1:])
    return Given(table, lengths, divisors, batch, event, dtype)


def check_gold(gold: Any, structure: Structure, given: Given) -> jax.Array:
    """`gold` (*batch, *event) as an array."""
    flat = check_input(_outline(given.scores), structure, None)
    structures = flat.batch.flatten("gold", _outline(gold))
    with flat.batch:
        check_events("gold", structures, structure, flat.scores)
    return jnp.asarray(gold)


def _outline(x: Any, full: tuple[int, ...] | None = None) -> Any:
    """A tensor with the shape and dtype of an array, without memory. Other values: as they are.

    It holds the sizes `full` of an instance if these are given, else ones.
    """
    if not isinstance(x, jax.Array | np.ndarray):
        return x
    dtype = getattr(torch, str(x.dtype), None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"expected an array of numbers, got dtype {x.dtype}")
    values = torch.tensor(full or (1,)).to(dtype)
    several = len(values) > 1 and x.shape[-1:] == values.shape
    return (values if several else values[0]).expand(x.shape)


def _shared(lengths: jax.Array, batch: tuple[int, ...], full: tuple[int, ...] | None) -> jax.Array:
    """Lengths for each instance, given for the first batch dimensions only."""
    sizes = 1 if full is not None and len(full) > 1 else 0
    own = lengths.ndim - sizes
    if own >= len(batch):
        return lengths
    rest = lengths.shape[own:]
    table = lengths.reshape(*lengths.shape[:own], *[1] * (len(batch) - own), *rest)
    return jnp.broadcast_to(table, (*batch, *rest))
