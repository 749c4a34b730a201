"""Native families on CUDA tensors: their programs and the MAP oracle."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._internal import cuda

MEMORY = 4 * 2**30  # working memory of one launch in bytes; larger batches are split
_OPTIONS = 3  # of a family, that kernels take
_LITTLE = 2**29  # bytes that are free on any GPU

# The struct that implements a family, chosen by its first options.
FAMILIES = {
    name: tuple(re.findall(r"\w+(?:<[^>]*>)?", structs))
    for name, structs in _native.families().items()
}
_KERNELS = {
    "argmax": ("measure", "argmax"),
    "kbest": ("measure", "kbest"),
    "solve": ("measure", "solve", "tally", "write_solutions"),
}

_ASKED = {"argmax": "map", "kbest": "kbest", "solve": "sparsemap"}  # the public name of each task


@cache
def _program(family: str, struct: str, task: str) -> cuda.Program:
    source = f"""#include "families/{family}.h"
namespace sparsewood {{
using Chosen = {struct};
}}
#include "cuda/{task}.cuh"
"""
    return cuda.Program(source, _KERNELS[task])


def program(family: str, options: Sequence[int], task: str) -> cuda.Program:
    """The kernels of a family for a task: "argmax", "kbest" or "solve"."""
    structs, at = FAMILIES[family], 0
    for flag in range((len(structs) - 1).bit_length()):
        at = 2 * at + bool(options[flag])
    return _program(family, structs[at], task)


@dataclass(frozen=True)
class KernelBatch:
    """A batch in the form that kernels take."""

    program: cuda.Program
    kernels: cuda.Kernels
    scores: Tensor  # (B, *parts) float64 or float32, contiguous
    sizes: Tensor | None  # (B, d) int64, contiguous; None: all are full
    layout: tuple[int, ...]  # equal for batches that need the same memory per instance

    @classmethod
    def of(
        cls,
        task: str,
        family: str,
        options: Sequence[int],
        scores: Tensor,
        sizes: Tensor | None,
        full: Sequence[int],
    ) -> "KernelBatch | None":
        """From scores of any dtype and sizes (B,) or (B, d). None: no kernels support them, nor
        families whose options are a list, such as a graph.

        Raises:
            RuntimeError: during capture of a CUDA graph: the host must read the kernel's results.
        """
        if len(options) > _OPTIONS:
            return None
        needs = program(family, options, task)
        kernels = cuda.load(needs, scores.device)
        if kernels is None:
            return None
        if scores.is_cuda and torch.cuda.is_current_stream_capturing():
            raise RuntimeError(
                f"{_ASKED[task]} cannot be captured in a CUDA graph: the host must read from the "
                "device how many structures were found and whether all scores were valid; "
                "call it outside the capture"
            )
        scores = scores.detach()
        if scores.dtype != torch.float32:
            scores = scores.to(torch.float64)
        if sizes is not None:
            sizes = sizes.to(scores.device, torch.int64).contiguous()
        shape = scores.shape[1:]
        layout = (
            len(full),
            *shape,
            *(1,) * (3 - len(shape)),
            *full,
            *(0,) * (2 - len(full)),
            *map(int, options),
            *(0,) * (_OPTIONS - len(options)),
        )
        return cls(needs, kernels, scores.contiguous(), sizes, layout)

    def __len__(self) -> int:
        return len(self.scores)

    def part(self, begin: int, end: int) -> "KernelBatch":
        """Some of the instances."""
        sizes = None if self.sizes is None else self.sizes[begin:end]
        return replace(self, scores=self.scores[begin:end], sizes=sizes)

    @property
    def narrow(self) -> bool:
        """Whether the scores are float32; else float64."""
        return self.scores.dtype == torch.float32

    @property
    def arguments(self) -> tuple[cuda.Argument, ...]:
        """SPARSEWOOD_PADDED in native/cuda/padded.cuh."""
        sizes = 0 if self.sizes is None else self.sizes
        return self.scores, int(self.narrow), sizes, *self.layout

    def measure(self, *more: int) -> tuple[int, ...]:
        """The output of the kernel `measure` for instances of full size."""
        return _measure(self.program, self.scores.device, self.layout, more)


@lru_cache(maxsize=4096)
def _measure(
    needs: cuda.Program, device: torch.device, layout: tuple[int, ...], more: tuple[int, ...]
) -> tuple[int, ...]:
    kernels = cuda.load(needs, device)
    assert kernels is not None
    found = torch.zeros(4, dtype=torch.int64, device=device)
    kernels.launch("measure", 1, 1, 0, 0, 0, *layout, *more, found)
    return tuple(found.tolist())


def at_once(share: int, count: int, device: torch.device) -> int:
    """How many of `count` instances fit in memory at a time, each taking `share` bytes."""
    room = MEMORY
    if device.type == "cuda" and count * share > _LITTLE:
        free = torch.cuda.mem_get_info(device)[0]
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        room = min(room, (free + kept) // 2)
    return max(1, min(count, room // max(1, share)))


class Best(NamedTuple):
    """The best structure of each instance."""

    structures: Tensor  # (B, *event) int64
    scores: Tensor  # (B,) float64


def argmax(batch: KernelBatch, event: tuple[int, ...]) -> Best | None:
    """The highest scoring structures; None if an instance has none: the host then raises."""
    share = batch.measure()[0]
    turn = at_once(share, len(batch), batch.scores.device)
    events = batch.scores.new_empty(len(batch), *event, dtype=torch.int64)
    totals = batch.scores.new_empty(len(batch), dtype=torch.float64)
    failed = torch.zeros(1, dtype=torch.int64, device=batch.scores.device)
    memory = failed.new_empty(turn * share, dtype=torch.uint8)
    for begin in range(0, len(batch), turn):
        some = batch if turn == len(batch) else batch.part(begin, begin + turn)
        out = memory, share, prod(event), events[begin:], totals[begin:], failed
        batch.kernels.launch("argmax", len(some), 32, *some.arguments, *out)
    return None if failed.item() else Best(events, totals)
