"""Out-of-memory errors that say what was too large."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

_SAID = ("can't allocate memory", "not enough memory")  # messages of PyTorch about host memory


@contextmanager
def told_if_out_of_memory(what: Callable[[], str]) -> Iterator[None]:
    """Turn out-of-memory errors into ValueError with `what()`: the work, and what to do."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        known = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not known and not any(text in str(error) for text in _SAID):
            raise
        raise ValueError(f"out of memory: {what()}") from error


def of_sentences(number: int, longest: int) -> str:
    """The size of a batch, in words."""
    several = f"{number} sentences, the longest with" if number > 1 else "a sentence with"
    return f"{several} {longest:,} words (memory grows with the square of the length)"
