"""Memory that runs out, as an error that says what was too large."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

_SAID = ("can't allocate memory", "not enough memory")  # by PyTorch, of the host's memory


@contextmanager
def told_if_out_of_memory(what: Callable[[], str]) -> Iterator[None]:
    """Within it, running out of memory raises ValueError with `what()`: the work and what to do."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        known = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not known and not any(text in str(error) for text in _SAID):
            raise
        raise ValueError(f"out of memory: {what()}") from error


def of_sentences(number: int, longest: int) -> str:
    """A batch in words, and what makes it smaller."""
    several = f"{number} sentences, the longest with" if number > 1 else "a sentence with"
    return f"{several} {longest:,} words (memory grows with the square of the words)"
