"""The number of threads of the native solver."""

import torch

_chosen: int | None = None


def set_num_threads(threads: int | None) -> None:
    """Use `threads` threads in the native solver; None follows `torch.get_num_threads()` again.

    The number of threads changes only the speed, not the results.
    """
    global _chosen
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise ValueError(f"threads must be a whole number of at least 1 or None, got {threads!r}")
    _chosen = threads


def get_num_threads() -> int:
    """The number of threads the native solver uses."""
    return torch.get_num_threads() if _chosen is None else _chosen
