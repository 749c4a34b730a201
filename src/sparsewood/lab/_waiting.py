"""How threads of PyTorch wait for each other; must be set before PyTorch is loaded."""

from collections.abc import MutableMapping

# The default of GCC's OpenMP for processes with more threads than processors.
_ITERATIONS = "1000"


def wait_briefly(environment: MutableMapping[str, str]) -> None:
    """Let idle threads sleep after about 50 microseconds instead of 15 milliseconds.

    GCC's OpenMP assumes that the machine is its own. Beside other busy processes a thread then
    spins on a processor that the one it waits for needs, and training takes ten times as long.
    What the caller has chosen stands. Without effect once PyTorch is loaded.
    """
    if "OMP_WAIT_POLICY" not in environment:
        environment.setdefault("GOMP_SPINCOUNT", _ITERATIONS)
