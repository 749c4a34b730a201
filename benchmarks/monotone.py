"""Monotone alignments of speech, against the peers that projects of speech use.

    python benchmarks/monotone.py [--tokens 200] [--frames 1000] [--batch 32] [--repeats 10]

- MAP alignments of tokens with frames against `monotonic-alignment-search` (the Cython code of
  Glow-TTS): the same scores of the paths found, summed in float64.
- The CTC loss of labels and frames, with its gradient, against `torch.nn.functional.ctc_loss`: the
  same losses and gradients, in float64; a quarter of the batch, half as many labels and frames.

Scores are of different lengths. Times are the best of the repeats, alternating, with one
thread and with all. The run fails if results differ, never because of a time. Without
`monotonic-alignment-search` its row has our time alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table
from timing import target, threads
from torch import Tensor

import sparsewood as sp

try:
    from monotonic_alignment_search import maximum_path  # pyright: ignore[reportMissingImports]
except ModuleNotFoundError:
    maximum_path = None

SPEECH, CTC = sp.Alignment(steps="speech"), sp.Alignment(steps="ctc")
SYMBOLS = 64


def times(calls: list[Callable[[], object]], repeats: int) -> list[float]:
    """The best time of each call, in ms."""
    best = [float("inf")] * len(calls)
    for _ in range(repeats + 1):  # the first warms up
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[k] = min(best[k], 1000 * (time.perf_counter() - start))
    return best


def draw_lengths(batch: int, most: int) -> Tensor:
    """Lengths from half of `most`; the first is `most`."""
    lengths = torch.randint(most // 2, most + 1, (batch,))
    lengths[0] = most
    return lengths


def search(batch: int, tokens: int, frames: int) -> tuple[list[Callable[[], object]], float]:
    """MAP alignments: the calls, and the largest difference in the score of a path."""
    scores = torch.randn(batch, tokens, frames)
    lengths = torch.stack([draw_lengths(batch, tokens), draw_lengths(batch, frames)], 1)
    lengths[:, 1] = torch.maximum(lengths[:, 1], lengths[:, 0])
    mask = SPEECH.reads(scores, lengths).float()

    def ours() -> Tensor:
        return SPEECH.argmax(scores, lengths)

    peer = maximum_path
    if peer is None:
        return [ours], 0.0

    def theirs() -> Tensor:
        return peer(scores, mask)

    def total(path: Tensor) -> Tensor:
        return (scores.double() * path * mask).sum((1, 2))

    return [ours, theirs], float((total(ours()) - total(theirs())).abs().max())


def loss(batch: int, labels: int, frames: int) -> tuple[list[Callable[[], object]], float]:
    """The CTC loss: the calls, and the largest relative difference of losses and gradients."""
    logits = torch.randn(batch, frames, SYMBOLS, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(1, SYMBOLS, (batch, labels))
    held, seen = draw_lengths(batch, labels), draw_lengths(batch, frames)
    seen = torch.maximum(seen, (2 * held).clamp(max=frames))

    def ours() -> tuple[Tensor, Tensor]:
        scores, lengths = sp.ctc_scores(logits.log_softmax(-1), targets, frames=seen, labels=held)
        value = -sp.marginals(scores, CTC, lengths=lengths).log_partition
        return value.detach(), torch.autograd.grad(value.sum(), logits)[0]

    def theirs() -> tuple[Tensor, Tensor]:
        value = torch.nn.functional.ctc_loss(
            logits.log_softmax(-1).transpose(0, 1), targets, seen, held, reduction="none"
        )
        return value.detach(), torch.autograd.grad(value.sum(), logits)[0]

    pairs = zip(ours(), theirs(), strict=True)
    return [ours, theirs], max(float(((a - b).abs() / (1 + b.abs())).max()) for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=10)
    given = parser.parse_args()
    torch.manual_seed(0)
    sizes = given.batch, given.tokens, given.frames
    smaller = max(1, given.batch // 4), given.tokens // 2, given.frames // 2
    table = Table(
        "problem", "size", "threads", "sparsewood (ms)", "peer (ms)", "ratio", "difference"
    )
    wrong = False
    for name, make, size, goal, allowed in (
        ("speech, MAP", search, sizes, 1.0, 1e-2),
        ("CTC, loss and gradient", loss, smaller, None, 1e-9),
    ):
        calls, difference = make(*size)
        wrong |= not difference <= allowed
        for count in sorted({1, torch.get_num_threads()}):
            with threads(count):
                found = times(calls, given.repeats)
            row = [name, " x ".join(map(str, size)), str(count), f"{found[0]:.1f}"]
            if len(found) == 2:
                ratio = found[1] / found[0]
                met = goal is None or ratio >= goal
                row += [f"{found[1]:.1f}", target(ratio, goal, met), f"{difference:.1e}"]
            table.add_row(*row)
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(table)
    if wrong:
        sys.exit("results differ from the peer's")


if __name__ == "__main__":
    main()
