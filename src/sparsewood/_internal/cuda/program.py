"""CUDA programs and compiled kernels."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from torch import Tensor

from sparsewood._internal.cuda.includes import as_compiled

Argument = Tensor | int | float
Start = Callable[..., None]  # (grid, *last arguments)


@dataclass(frozen=True)
class Program:
    """CUDA C++ code and the `extern "C" __global__` functions in it.

    Their parameters may only be pointers, `int64_t` and `double`.
    """

    source: str
    kernels: tuple[str, ...]


class Kernels(Protocol):
    """A program compiled for one device."""

    def launch(
        self, kernel: str, grid: int, block: int, *arguments: Argument, shared: int = 0
    ) -> None:
        """Start `grid` blocks of `block` threads on PyTorch's current stream.

        A tensor is passed as a pointer to its data, an int as `int64_t`, a float as `double`.
        `shared` is the dynamic shared memory of a block in bytes.
        """
        ...

    def prepare(
        self, kernel: str, block: int, *arguments: Argument, last: int = 0, shared: int = 0
    ) -> Start:
        """A function (grid, *last) that launches `kernel` on the stream that is current now.

        The `last` arguments, which are ints, are given per launch, the others once. For many
        launches this takes a fraction of the host time of `launch`.
        """
        ...


@cache
def headers() -> Path:
    """The folder of the headers, in the source tree or the installed package."""
    package = Path(__file__).parents[2]
    tree = package.parents[1] / "native"
    if package.parent.name == "src" and tree.is_dir():
        return tree
    from sparsewood import _native

    return Path(str(_native.__file__)).parent / "native"


def digest(program: Program, *what: object) -> str:
    """A hash of `program` and of `what`, the options of its compilation."""
    source = as_compiled(program.source, headers())
    text = "\0".join([source, *program.kernels, *map(str, what)])
    return sha256(text.encode()).hexdigest()[:32]
