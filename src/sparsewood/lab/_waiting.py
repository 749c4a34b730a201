"""How threads of PyTorch wait for each other: without PyTorch, which reads it when it is loaded."""

from collections.abc import MutableMapping

# What GCC's OpenMP takes by itself where a process has more threads than the machine processors.
_ITERATIONS = "1000"


def wait_briefly(environment: MutableMapping[str, str]) -> None:
    """Let threads that have nothing to do sleep after some 50 microseconds, not 15 milliseconds.

    GCC's OpenMP assumes that the machine is its own. Beside other busy processes a thread then
    spins on a processor that the one it waits for needs, and training takes ten times as long.
    What the caller has chosen stands. Without effect once PyTorch is loaded.
    """
    if "OMP_WAIT_POLICY" not in environment:
        environment.setdefault("GOMP_SPINCOUNT", _ITERATIONS)
