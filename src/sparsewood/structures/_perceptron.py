"""A search for the structures that have given parts, if parts are numbers."""

from collections.abc import Callable

from torch import Tensor

_ROUNDS = 1000


def search(
    argmax: Callable[[Tensor, Tensor | None], Tensor],
    indicator: Callable[[Tensor, tuple[int, ...]], Tensor],
    parts: Tensor,
    lengths: Tensor | None,
) -> Tensor:
    """The structures (T, *event) with the parts (T, *parts); any structures where there are none.

    Starts from scores equal to the parts, and moves them by perceptron steps until the oracle
    returns the structure with those parts, for at most a thousand rounds.

    Args:
        argmax: the oracle of the family: (T, *parts), lengths -> (T, *event).
        indicator: the parts of structures: (T, *event), the shape of parts -> (T, *parts).
        parts: float64.
        lengths: (T,), or (T, d), the size of each instance; None: all have full size.
    """
    shape, potentials = tuple(parts.shape[1:]), parts.clone()
    found = argmax(potentials, lengths)
    for _ in range(_ROUNDS):
        missed = parts - indicator(found, shape)
        rows = missed.flatten(1).any(-1).nonzero()[:, 0]
        if len(rows) == 0:
            break
        potentials[rows] += missed[rows]
        own = None if lengths is None else lengths.to(rows.device)[rows]
        found[rows] = argmax(potentials[rows], own)
    return found
