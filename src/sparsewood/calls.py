"""How often inference was asked: a measure of its cost that does not depend on the machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Literal

import torch
from torch import Tensor

Kind = Literal["map", "sums", "samples"]


@dataclass(eq=False)
class Calls:
    """What was asked while it was counted, in instances: a batch of eight counts as eight.

    Attributes:
        map: instances that were handed to the MAP oracle, by SparseMAP and `kbest` again and again.
        sums: instances of which a sum over all structures was taken, its gradient included.
        samples: structures that were drawn from all of a family.
    """

    map: int = 0
    sums: int = 0
    samples: int = 0

    @property
    def total(self) -> int:
        return self.map + self.sums + self.samples


# Not of one thread: autograd may run a backward pass in another.
_active: list[Calls] = []
_lock = Lock()


@contextmanager
def count_calls() -> Iterator[Calls]:
    """Count the calls of all inference, forward and backward and in any thread, while it is open.

    One inside another: both count. What runs in a compiled graph (`torch.compile`) is not counted.

    Example:
        >>> with sp.count_calls() as calls:
        ...     best = sp.map(torch.zeros(8, 3, 4), sp.DependencyTrees())
        ...     dist = sp.marginals(torch.zeros(2, 3, 4), sp.DependencyTrees())
        ...     heads = dist.sample(5)
        >>> calls
        Calls(map=8, sums=2, samples=10)
        >>> calls.total
        20
    """
    calls = Calls()
    with _lock:
        _active.append(calls)
    try:
        yield calls
    finally:
        with _lock:
            _active.remove(calls)


def count(kind: Kind, instances: int | Tensor) -> None:
    """Add so many calls, a number or the sum of a tensor, to all that count."""
    if torch.compiler.is_compiling() or not _active:
        return
    number = int(instances.sum()) if isinstance(instances, Tensor) else instances
    with _lock:
        for calls in _active:
            setattr(calls, kind, getattr(calls, kind) + number)
