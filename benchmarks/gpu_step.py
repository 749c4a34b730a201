"""A latent training step on a GPU against a flat one, and its copies between host and device.

    python benchmarks/gpu_step.py [--data FOLDER] [--batches 16 64 256] [--support 5]

The step is that of `forest.py`. Copies are counted by the profiler; the lines that cause them are
listed below the table. The run fails if gradients on the GPU differ from those on the CPU, never
because of a time or a number of copies.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields

import sentences
import torch
from copies import count_copies
from forest import Run, find_temperature, mean_length, mean_support, posteriors
from rich.table import Table
from sentences import Batch
from step import Trainer
from timing import target

import sparsewood as sp

GOALS = {16: 10.0, 64: 14.0, 256: 25.0}  # milliseconds of a latent step
RATIO = 1.5  # latent over flat
COPIES = 3
SAME = 0.9  # share of sentences with the same trees as on the CPU


def measure(run: Run, size: int, support: float, table: Table) -> list[str]:
    """Add one row; returns lines about the copies."""
    batches = run.batches(size)
    trainers = {name: run.trainer(name) for name in ("flat", "sparsemap")}
    latent = trainers["sparsemap"]
    temperature = find_temperature(latent, batches, support)
    found = mean_support(posteriors(latent, batches))
    check_gradients(run, size, batches[0], temperature)
    times = run.time({name: trainer.step for name, trainer in trainers.items()}, batches)
    ratio, goal = times["sparsemap"] / times["flat"], GOALS.get(size)
    told, cells = [], []
    for name, trainer in trainers.items():
        copies = count_copies(lambda trainer=trainer: trainer.step(batches[0]))
        colour = "green" if copies.total <= COPIES else "red"
        cells.append(f"[{colour}]{copies.total}[/] ({COPIES})")
        told += [f"batch {size}, {name}: {n} x {what}" for what, n in copies.seen.items()]
        told += [f"    {n} x {line}" for line, n in copies.origins.most_common()]
    table.add_row(
        str(size), f"{mean_length(batches):.1f}", f"{found:.1f}", f"{times['flat']:.2f}",
        target(times["sparsemap"], goal, goal is not None and times["sparsemap"] <= goal, " ms"),
        target(ratio, RATIO, ratio <= RATIO), f"{1e3 * size / times['sparsemap']:.0f}", *cells,
    )  # fmt: skip
    return told


def check_gradients(run: Run, size: int, batch: Batch, temperature: float) -> None:
    """Compare the gradients of a step on the GPU and on the CPU, in float64.

    The trees of a sentence need not be unique; the few sentences with different trees are excluded.
    """
    trainers = []
    for device in (run.device, torch.device("cpu")):
        trainers.append(Trainer(run.trainer("sparsemap").model.double(), device))
        trainers[-1].model.trees.estimator = sp.SparseMAP(temperature=temperature)
    both = zip(*(posteriors(trainer, [batch])[0] for trainer in trainers), strict=True)
    same = torch.tensor([torch.equal(a.structures.cpu(), b.structures) for a, b in both])
    if same.double().mean() < SAME:
        run.wrong.append(f"trees at batch {size}: {same.double().mean():.0%} are those of the CPU")
    alike = Batch(*(getattr(batch, field.name)[same] for field in fields(batch)))
    for trainer in trainers:
        trainer.step(alike)
    ours, expected = ([g.cpu() for g in trainer.gradients()] for trainer in trainers)
    run.check(f"gradients at batch {size}", ours, expected)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    sentences.add_option(parser)
    parser.add_argument("--batches", type=int, nargs="+", default=list(GOALS), help="batch sizes")
    parser.add_argument("--support", type=float, default=5.0, help="mean trees of a sentence")
    parser.add_argument("--count", type=int, default=8, help="batches timed")
    parser.add_argument("--repeats", type=int, default=5, help="timed runs of each batch")
    parser.add_argument(
        "--parser-steps", type=int, default=100, help="steps that teach the scorer to parse"
    )
    options = parser.parse_args()
    return argparse.Namespace(**vars(options), device="cuda", supports=[])


def main() -> int:
    if not torch.cuda.is_available():
        print("no GPU found", file=sys.stderr)
        return 1
    options = arguments()
    run = Run(options)
    table = Table(
        title=f"A training step on {torch.cuda.get_device_name()}: {run.corpus.source}",
        caption="best of the repeats, averaged over batches; targets in brackets",
    )
    for heading in (
        "batch", "words", "support", "flat ms", "latent", "latent / flat", "sentences/s",
        "copies, flat", "copies, latent",
    ):  # fmt: skip
        table.add_column(heading, justify="right")
    told = [line for n in options.batches for line in measure(run, n, options.support, table)]
    run.console.print(table)
    print("\n".join(told))
    for what in run.wrong:
        print(f"wrong: {what}", file=sys.stderr)
    return 1 if run.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
