"""Counts of inference calls: a measure of cost that does not depend on the machine."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Literal

import torch
from torch import Tensor

Kind = Literal["map", "sums", "samples"]


class Calls:
    """Counts of inference calls, in instances: a batch of eight counts as eight.

    Counts on a GPU are read only when a count is accessed.
    """

    def __init__(self) -> None:
        self._numbers: Counter[Kind] = Counter()
        self._pending: list[tuple[Kind, Tensor]] = []  # counts on devices

    @property
    def map(self) -> int:
        """Instances passed to the MAP oracle.

        SparseMAP passes each several times. `kbest` counts a pass over the chart of an instance as
        one, and otherwise two calls for each structure after the first but the last.
        """
        return self._settled()["map"]

    @property
    def sums(self) -> int:
        """Instances for which a sum over all structures was computed, including its gradient."""
        return self._settled()["sums"]

    @property
    def samples(self) -> int:
        """Structures sampled from the distribution over all structures."""
        return self._settled()["samples"]

    @property
    def total(self) -> int:
        return self._settled().total()

    def __repr__(self) -> str:
        return f"Calls(map={self.map}, sums={self.sums}, samples={self.samples})"

    def add(self, kind: Kind, number: "int | Tensor") -> None:
        """Add to a count; `number` may be a tensor on a device."""
        with _lock:
            if isinstance(number, Tensor):
                self._pending.append((kind, number))
            else:
                self._numbers[kind] += number

    def _settled(self) -> "Counter[Kind]":
        with _lock:
            pending, self._pending = self._pending, []
            for device in {number.device for _, number in pending if number.device.type != "cpu"}:
                torch.accelerator.synchronize(device)  # counts may be pending in any stream
            for kind, number in pending:
                self._numbers[kind] += int(number)
            return self._numbers


# Shared by all threads, as autograd may run a backward pass in another thread.
_active: list[Calls] = []
_lock = Lock()


@contextmanager
def count_calls() -> Iterator[Calls]:
    """Count all inference calls within a `with` block: forward, backward and in any thread.

    Blocks can be nested. Calls in a compiled graph (`torch.compile`) are not counted.

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
    """Add a number of calls, or the sum of a tensor, to all open counters."""
    if torch.compiler.is_compiling() or not _active:
        return
    number = instances
    if isinstance(number, Tensor):
        number = number.sum()
        if number.device.type == "cpu":
            number = int(number)
    for calls in tuple(_active):
        calls.add(kind, number)
