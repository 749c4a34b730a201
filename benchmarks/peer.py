"""The peer, `lp-sparsemap`: finds an interpreter that has it, and solves there.

It has wheels up to Python 3.9, so it runs as a worker process; arrays are passed in files.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

VARIABLE = "SPARSEWOOD_PEER_PYTHON"
WORKER = Path(__file__).with_name("peer_lpsparsemap.py")


class PeerAnswer(NamedTuple):
    seconds: NDArray[np.float64]  # (B,) the solve alone, without building the factor
    marginals: NDArray[np.float64]  # (B, *parts)
    support: NDArray[np.int64]  # (B,) structures kept


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--peer",
        metavar="PYTHON",
        default=os.environ.get(VARIABLE),
        help=f"interpreter with lp-sparsemap (default: ${VARIABLE}, then python3.9); "
        "'none' skips the peer",
    )


def find(given: str | None) -> str | None:
    """The peer's interpreter: the given one, or `python3.9` if it can import `lpsmap`."""
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
    """SparseMAP over the trees of `scores` (B, n, n+1), one instance after another."""
    answer = run(python, WORKER, kind="trees", scores=scores, max_iter=max_iter)
    return PeerAnswer(answer["seconds"], answer["marginals"], answer["support"])


def solve_chains(
    python: str, unary: NDArray[np.float64], transition: NDArray[np.float64], max_iter: int
) -> PeerAnswer:
    """SparseMAP over chains, unary (B, T, K) and transition (B, T-1, K, K); marginals (B, T, K)."""
    given = {"scores": unary, "transition": transition, "max_iter": max_iter}
    answer = run(python, WORKER, kind="chains", **given)
    return PeerAnswer(answer["seconds"], answer["marginals"], answer["support"])


def solve_matchings(
    python: str, scores: NDArray[np.float64], max_iter: int, *, our_oracle: bool
) -> PeerAnswer | None:
    """SparseMAP over the matchings of (B, n, n); None if no C++ compiler is found.

    The peer has no matching factor. A small one, with a textbook oracle or ours, is compiled
    against the library and headers in its package, to time its active set method as for trees.
    """
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        return None
    where = "import os, lpsmap; print(os.path.dirname(lpsmap.__file__))"
    core = Path(subprocess.check_output([python, "-W", "ignore", "-c", where], text=True).strip())
    core /= "core"
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        program, source, target = (Path(folder, name) for name in ("peer", "in", "out"))
        folders = [f"-I{core / 'include'}", f"-I{here.parent / 'native'}"]
        files = [str(here / "peer_matching.cpp"), str(core / "lib" / "libad3.a")]
        command = [compiler, "-O3", "-std=c++17", *folders, *files, "-o", str(program)]
        subprocess.run(command, check=True)
        batch, n, _ = scores.shape
        np.concatenate([[batch, n, max_iter, our_oracle], scores.ravel()]).tofile(source)
        subprocess.run([program, source, target], check=True)
        answer = np.fromfile(target).reshape(batch, 2 + n * n)
    marginals = answer[:, 2:].reshape(scores.shape)
    return PeerAnswer(answer[:, 0], marginals, answer[:, 1].astype(np.int64))


def run(python: str, worker: Path, **given: Any) -> dict[str, NDArray[Any]]:
    """The result of the worker for the arrays `given`, in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(source, **given)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        # The worker must not see this interpreter's packages.
        environment.pop("PYTHONPATH", None)
        subprocess.run([python, str(worker), str(source), str(target)], check=True, env=environment)
        with np.load(target) as answer:
            return dict(answer)
