"""Signals are handled inside the extension, which works without the GIL."""

import signal
import subprocess
import sys

import pytest
import torch

import sparsewood as sp
from tests.full import some_quick

# Each takes many minutes. A handler that raises ends it; one that does not lets it continue.
CHILD = """
import os, signal, sys
import torch
import sparsewood as sp

heard = 0

def handler(*_):
    global heard
    heard += 1
    if heard > 1:
        raise SystemExit(42)
    print("heard", flush=True)

signal.signal(signal.SIGTERM, handler)
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored
threads, work = sys.argv[1:]
sp.set_num_threads(int(threads))
flat = 0.01 * torch.randn(2000, 40, 41)
row = torch.randn(1, 1200, 1201)
print("begin", flush=True)
try:
    if work == "batch":
        sp.sparsemap(flat, sp.DependencyTrees())
    elif work == "instance":
        sp.sparsemap(row, sp.DependencyTrees(projective=True))
    elif work == "kbest":
        sp.kbest(flat, sp.DependencyTrees(), 20_000)
    elif work == "oracle":
        sp.map(torch.randn(100, 400, 401), sp.DependencyTrees(projective=True, max_children=10))
    print("end", flush=True)
except SystemExit as end:
    os._exit(end.code)  # Python would go down without its handlers
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def start(threads: int, work: str) -> "subprocess.Popen[str]":
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(threads), work],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "begin\n"
    return child


def signal_until_it_ends(child: "subprocess.Popen[str]", number: int) -> tuple[str, str]:
    """Its output and errors. One signal may arrive before the work begins, and be lost."""
    for _ in range(20):
        child.send_signal(number)
        try:
            return child.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            pass
    raise AssertionError("it did not end")


@pytest.mark.parametrize("work", ["batch", "instance", "kbest", "oracle"])
@pytest.mark.parametrize("threads", some_quick([1, 2], 2))
def test_handlers_run_and_end_the_work_by_raising(threads: int, work: str) -> None:
    child = start(threads, work)
    try:
        assert child.stdout is not None
        child.send_signal(signal.SIGTERM)
        assert child.stdout.readline() == "heard\n"
        assert child.poll() is None
        rest, _ = signal_until_it_ends(child, signal.SIGTERM)
    finally:
        child.kill()
        child.communicate()
    assert (child.returncode, rest) == (42, "")


def test_keyboard_interrupt() -> None:
    child = start(2, "batch")
    try:
        _, errors = signal_until_it_ends(child, signal.SIGINT)
    finally:
        child.kill()
        child.communicate()
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_answers_are_the_same_beside_a_busy_handler() -> None:
    scores = 0.01 * torch.randn(2, 30, 31, dtype=torch.float64)
    quiet = sp.sparsemap(scores, sp.DependencyTrees())
    count = 0

    def handler(*_: object) -> None:
        nonlocal count
        count += 1

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        busy = sp.sparsemap(scores, sp.DependencyTrees())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert count > 0
    assert busy.weights.equal(quiet.weights)
    assert busy.structures.equal(quiet.structures)
