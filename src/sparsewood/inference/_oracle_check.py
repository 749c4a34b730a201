"""Checks that a user's oracle maximises, based on its own answers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood.structures.base import Structure
from sparsewood.structures.oracle_error import OracleError, OracleValueError

# Above the rounding error of an oracle in float32, relative to the scores that it sums and to a
# penalty of 1.
_ROUNDING, _TINY = 1e-4, 1e-6


class Ended(NamedTuple):
    """The final state of the solve of an instance."""

    theta: Tensor  # (P,) the scores of the allowed parts
    allowed: Tensor  # (P,) their indices
    parts: Tensor  # (K, P) of the structures in the support; a single one is the best for theta


def check_best(potentials: Tensor, column: Tensor, others: Tensor) -> None:
    """Raise `OracleValueError` if one of `others` scores higher than the oracle's answer.

    Args:
        potentials: (P,), the scores given to the oracle.
        column: (P,), the parts of its answer.
        others: (K, P), the parts of structures that it returned before; K at least 1.
    """
    found = float(potentials @ column)
    most, at = (others @ potentials).max(0)
    size = float(potentials.abs() @ (column.abs() + others[at].abs()))
    if float(most) - found <= _ROUNDING * size + _TINY:
        return
    raise OracleValueError(
        f"the oracle returned a structure that scores {found:.6g}, but one that it returned before "
        f"scores {float(most):.6g}: expected the structure with the highest score; if your "
        "algorithm minimises, pass it the negated scores"
    )


def check_maximises(
    structure: Structure,
    shape: torch.Size,
    oracle: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    ended: Sequence[Ended],
) -> None:
    """Raise `OracleValueError` if a user's oracle turns out to minimise.

    Such an oracle keeps returning the worst structure, so the solve ends with a single structure.
    For instances that ended so, the oracle is called once more with the scores reflected within
    their range: a minimiser then returns one of the best structures. If this call fails, nothing
    is concluded.

    Args:
        structure: the family; native families are not checked.
        shape: *parts, of one instance.
        oracle: as in `generic`.
        ended: the final state of each instance.
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
    """Adds the index of the instance to an `OracleValueError`."""
    try:
        yield
    except OracleValueError as error:
        if error.index is not None:
            raise
        raise OracleValueError(error.problem, instance) from None
