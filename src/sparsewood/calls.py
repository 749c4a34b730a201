"""How often inference was asked: a measure of its cost that does not depend on the machine."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Literal

import torch
from torch import Tensor

Kind = Literal["map", "sums", "samples"]


class Calls:
    """What was asked while it was counted, in instances: a batch of eight counts as eight.

    What a GPU has counted is looked at when a number is asked for, not before.
    """

    def __init__(self) -> None:
        self._numbers: Counter[Kind] = Counter()
        self._pending: list[tuple[Kind, Tensor]] = []  # on devices

    @property
    def map(self) -> int:
        """Instances that were handed to the MAP oracle, by SparseMAP and `kbest` repeatedly."""
        return self._settled()["map"]

    @property
    def sums(self) -> int:
        """Instances of which a sum over all structures was taken, its gradient included."""
        return self._settled()["sums"]

    @property
    def samples(self) -> int:
        """Structures that were drawn from all of a family."""
        return self._settled()["samples"]

    @property
    def total(self) -> int:
        return self._settled().total()

    def __repr__(self) -> str:
        return f"Calls(map={self.map}, sums={self.sums}, samples={self.samples})"

    def add(self, kind: Kind, number: "int | Tensor") -> None:
        """Count so many more, a number or one on a device."""
        with _lock:
            if isinstance(number, Tensor):
                self._pending.append((kind, number))
            else:
                self._numbers[kind] += number

    def _settled(self) -> "Counter[Kind]":
        with _lock:
            pending, self._pending = self._pending, []
            for device in {number.device for _, number in pending if number.device.type != "cpu"}:
                torch.accelerator.synchronize(device)  # any stream may have counted
            for kind, number in pending:
                self._numbers[kind] += int(number)
            return self._numbers


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
    number = instances
    if isinstance(number, Tensor):
        number = number.sum()
        if number.device.type == "cpu":
            number = int(number)
    for calls in tuple(_active):
        calls.add(kind, number)
