"""The inference functions of the kit, also run on a GPU if there is one.

Inputs are copied to the GPU and results back, so that they are compared with the same sums.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from sparsewood import inference

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

DEVICES = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)

_places = [torch.device("cpu")]


@contextmanager
def on_device(name: str) -> Iterator[None]:
    """Within the block, the functions below run on this device."""
    _places.append(torch.device(name))
    try:
        yield
    finally:
        _places.pop()


def _placed(infer: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    plain: Callable[..., Any] = infer

    @wraps(infer)
    def call(*args: Any, **options: Any) -> Any:
        device = _places[-1]
        if device.type == "cpu":
            return plain(*args, **options)
        there = {name: _moved(value, device) for name, value in options.items()}
        found = plain(*(_moved(value, device) for value in args), **there)
        _check_on(found, device)
        return _moved(found, torch.device("cpu"))

    return call


def _moved(value: Any, device: torch.device) -> Any:
    """Copy a tensor, or a tuple or result of tensors, to a device; keeps the graph."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_moved(item, device) for item in value))
    if is_dataclass(value) and not isinstance(value, type):
        tensors = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        moved = {k: x.to(device) for k, x in tensors.items() if isinstance(x, Tensor)}
        return replace(value, **moved) if moved else value
    return value


def _check_on(found: Any, device: torch.device) -> None:
    values = vars(found).values() if is_dataclass(found) else found
    tensors = [found] if isinstance(found, Tensor) else [x for x in values if isinstance(x, Tensor)]
    assert tensors
    assert {tensor.device.type for tensor in tensors} == {device.type}


crf_loss = _placed(inference.crf_loss)
hinge_loss = _placed(inference.hinge_loss)
kbest = _placed(inference.kbest)
map = _placed(inference.map)
perceptron_loss = _placed(inference.perceptron_loss)
sparsemap = _placed(inference.sparsemap)
sparsemap_loss = _placed(inference.sparsemap_loss)
