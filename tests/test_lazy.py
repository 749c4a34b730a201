"""Attributes that are computed once."""

import torch

from sparsewood._lazy import lazy


class Counter:
    def __init__(self) -> None:
        self.asked = 0

    @lazy
    def value(self) -> torch.Tensor:
        """A tensor."""
        self.asked += 1
        return torch.ones(2)


def test_computes_once() -> None:
    counter = Counter()
    assert counter.value is counter.value
    assert counter.asked == 1
    assert Counter.value.__doc__ == "A tensor."


def test_compiles() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return Counter().value * x

    compiled = torch.compile(double, fullgraph=True, backend="eager")
    assert compiled(torch.full((2,), 3.0)).tolist() == [3.0, 3.0]
