"""What is compiled: a source over the headers of `native/`, and what comes of it."""

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
    """CUDA C++ and the `extern "C" __global__` functions in it.

    Their parameters are pointers, `int64_t` and `double` alone.
    """

    source: str
    kernels: tuple[str, ...]


class Kernels(Protocol):
    """A program for one device."""

    def launch(
        self, kernel: str, grid: int, block: int, *arguments: Argument, shared: int = 0
    ) -> None:
        """Start `grid` blocks of `block` threads on PyTorch's current stream.

        A tensor is passed as the pointer to its first number, an int as `int64_t`, a float as
        `double`. `shared` is the dynamic shared memory of a block in bytes.
        """
        ...

    def prepare(
        self, kernel: str, block: int, *arguments: Argument, last: int = 0, shared: int = 0
    ) -> Start:
        """A function (grid, *last) that launches `kernel` on what is now the current stream.

        The `last` arguments, which are ints, come with each launch, the others are given once: of
        many launches in a row each costs the host a fraction of `launch`.
        """
        ...


@cache
def headers() -> Path:
    """The folder of the headers: of the source tree, or of the installed package."""
    package = Path(__file__).parents[2]
    tree = package.parents[1] / "native"
    if package.parent.name == "src" and tree.is_dir():
        return tree
    from sparsewood import _native

    return Path(str(_native.__file__)).parent / "native"


def digest(program: Program, *what: object) -> str:
    """A name for what `program`, compiled in the way that `what` tells, becomes."""
    source = as_compiled(program.source, headers())
    text = "\0".join([source, *program.kernels, *map(str, what)])
    return sha256(text.encode()).hexdigest()[:32]
