"""The peer, `lp-sparsemap`: find an interpreter that has it and solve there.

Its wheels stop at Python 3.9, so it runs as a worker process; arrays travel in temporary files.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

VARIABLE = "SPINNEY_PEER_PYTHON"
WORKER = Path(__file__).with_name("peer_lpsparsemap.py")


class PeerAnswer(NamedTuple):
    seconds: NDArray[np.float64]  # (B,) the solve alone, without building the factor
    marginals: NDArray[np.float64]  # (B, n, n+1)
    support: NDArray[np.int64]  # (B,) structures kept


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--peer",
        metavar="PYTHON",
        default=os.environ.get(VARIABLE),
        help=f"interpreter with lp-sparsemap (default: ${VARIABLE}, then python3.9); "
        "'none' leaves the peer out",
    )


def find(given: str | None) -> str | None:
    """The peer's interpreter: the one given, else `python3.9` where it imports `lpsmap`."""
    if given == "none":
        return None
    python = given or shutil.which("python3.9")
    if python is None:
        return None
    try:
        probe = [python, "-W", "ignore", "-c", "import lpsmap, numpy"]
        failed = subprocess.run(probe, capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"cannot run {python}: {error}")
    if failed.returncode == 0:
        return python
    if given:
        sys.exit(f"{python} does not import lpsmap and numpy:\n{failed.stderr}")
    return None


def solve(python: str, scores: NDArray[np.float64], max_iter: int) -> PeerAnswer:
    """Solve every instance of `scores` (B, n, n+1), one after another, in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(source, scores=scores, max_iter=max_iter)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        # The worker must not see this interpreter's packages.
        environment.pop("PYTHONPATH", None)
        subprocess.run([python, str(WORKER), str(source), str(target)], check=True, env=environment)
        with np.load(target) as answer:
            return PeerAnswer(answer["seconds"], answer["marginals"], answer["support"])
