"""Counts the copies between host and device in a call, and finds the lines that cause them."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

MOVES = {"aten::_to_copy", "aten::copy_", "aten::lift_fresh", "aten::_pin_memory"}
# Operators that read values from the device for a number or the size of their result.
ASKS = {
    *("aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::bincount"),
    *("aten::equal", "aten::is_nonzero", "aten::_unique2", "aten::unique_dim"),
}


@dataclass(frozen=True)
class Copies:
    """The copies of a call.

    Attributes:
        seen: number of copies recorded by the profiler, by direction and kind of memory.
        origins: number of copies caused by each line of this project, with the operator.
    """

    seen: Counter[str]
    origins: Counter[str]

    @property
    def total(self) -> int:
        return self.seen.total()


class Origins(TorchDispatchMode):
    """Records every operator that copies between host and device, with the line that called it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.name().partition(".")[0]
        devices = {t.device.type for t in _tensors((args, kwargs, result))}
        crossed = name in MOVES and {"cpu", "cuda"} <= devices
        made = name == "aten::lift_fresh" and "cuda" in devices  # `torch.tensor(..., device=)`
        if crossed or made or (name in ASKS and "cuda" in devices):
            self.found[f"{name} at {_line()}"] += 1
        return result


def count_copies(call: Callable[[], object]) -> Copies:
    """The copies of one call, which should be warmed up."""
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        call()
        torch.cuda.synchronize()
    names = [event.name for event in profiler.events() or ()]
    seen = Counter(name for name in names if name.startswith(("Memcpy HtoD", "Memcpy DtoH")))
    with Origins() as origins:
        call()
    return Copies(seen, origins.found)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def _line() -> str:
    """The innermost line of the library or of a benchmark."""
    here = Path(__file__)
    for frame in reversed(traceback.extract_stack()):
        path = Path(frame.filename)
        if path != here and ("sparsewood" in path.parts or path.parent == here.parent):
            return f"{path.parent.name}/{path.name}:{frame.lineno} {frame.name}"
    return "elsewhere"
