"""Whether an oracle maximises, as far as its own answers tell."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood.structures.base import Structure
from sparsewood.structures.oracle_error import OracleError, OracleValueError

# More than an oracle in float32 loses: relative to the scores that are summed, and to a penalty of
# 1, as of numbers that it adds itself.
_ROUNDING, _TINY = 1e-4, 1e-6


class Ended(NamedTuple):
    """Where the solve of an instance ended."""

    theta: Tensor  # (P,) the scores of the allowed parts
    allowed: Tensor  # (P,) their indices
    parts: Tensor  # (K, P) of the structures that have weight


def check_best(potentials: Tensor, column: Tensor, others: Tensor) -> None:
    """`OracleValueError` if one of `others` scores more than what the oracle returned.

    Args:
        potentials: (P,), what the oracle was asked.
        column: (P,) 0/1, the parts of its answer.
        others: (K, P) 0/1, the parts of structures that it returned before; K at least 1.
    """
    found = float(potentials @ column)
    most, at = (others @ potentials).max(0)
    size = float(potentials.abs() @ (column + others[at]))
    if float(most) - found <= _ROUNDING * size + _TINY:
        return
    raise OracleValueError(
        f"the oracle returned a structure that scores {found:.6g}, although another one, which it "
        f"also returned, scores {float(most):.6g}: it must return the structure with the highest "
        "score; negate the scores that a minimiser is given"
    )


def check_maximises(
    structure: Structure,
    shape: torch.Size,
    oracle: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    ended: Sequence[Ended],
) -> None:
    """`OracleValueError` if a user's oracle is found to minimise.

    Such an oracle always returns the same structure, the worst, so that a solve ends at once. Where
    one ended with one structure the oracle is asked once more, with the scores reflected within
    their range: a minimiser then returns one of the best. What fails on them proves nothing.

    Args:
        structure: whose oracle it is; those of native families are right.
        shape: *parts, of one instance.
        oracle: as in `generic`.
        ended: of each instance.
    """
    alone = [b for b, one in enumerate(ended) if len(one.parts) == 1 and len(one.theta)]
    if structure.native is not None or not alone:
        return
    b = max(alone, key=lambda b: float(ended[b].theta.max() - ended[b].theta.min()))
    theta, allowed, parts = ended[b]
    table = torch.zeros(shape.numel(), dtype=torch.float64)
    table[allowed] = theta.max() + theta.min() - theta
    columns = None
    with suppress(OracleError, ValueError):
        columns = oracle(torch.tensor([b]), table.reshape(1, *shape))[1]
    if columns is not None:
        with naming(b):
            check_best(theta, parts[0], columns.cpu()[:, allowed].double())


@contextmanager
def naming(instance: int) -> Iterator[None]:
    """Gives an `OracleValueError` the number of the instance that it is about."""
    try:
        yield
    except OracleValueError as error:
        if error.index is not None:
            raise
        raise OracleValueError(error.problem, instance) from None
