"""The time of a training epoch over latent trees against one tree per sentence, on SST.

In the paper, a latent epoch takes 6 times as long as with flat trees and 4.7 times as long as with
given trees (Niculae, Martins & Cardie 2018, section 5). Each estimator is trained by
`sparsewood.lab.run` with the paper's sizes (batch 16, hidden size 300, GloVe 300); the first epoch
is a warm-up, the others are timed without validation.

    python benchmarks/epoch.py --data ../shared/data
    python benchmarks/epoch.py --device cuda --batch 64 --only sparsemap
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from sentences import GLOVE, add_option

from sparsewood.lab.data.sources import Sst
from sparsewood.lab.run import Lines, Run, RunConfig, TrainingConfig, train
from sparsewood.lab.tasks import ModelConfig

ROWS = ["flat", "given", "left-to-right", "sparsemap"]
PAPER = {"flat": 1.0, "given": 6 / 4.7, "sparsemap": 6.0}  # epoch time relative to flat trees


def main() -> int:
    options = parse()
    console = Console()
    parses = options.data / "parses"
    if not parses.is_dir():
        console.print(f"{options.data}: expected a folder with sst/, parses/ and glove/")
        return 1
    kept = f"max_active={options.max_active or 'none'}"
    runs: dict[str, list[dict]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            row = f"sparsemap:{kept}" if name == "sparsemap" else name
            console.print(f"{row}:")
            config = RunConfig(
                Sst(
                    data=options.data / "sst",
                    heads=tuple(sorted(parses.glob("sst_*.tsv"))),
                    skip_unparsed=True,
                    vectors=str(options.data / GLOVE),
                ),
                ModelConfig(row, dropout=0.0),
                TrainingConfig(
                    optimizer="sgd",
                    batch=options.batch,
                    lr=options.lr,
                    max_epochs=options.epochs + 1,
                    device=options.device,
                    threads=options.threads,
                    temperatures=False,
                ),
            )
            train(config, Path(folder, name), progress=Lines())
            runs[name] = Run(Path(folder, name)).metrics
    console.print(table(runs, options))
    falls = [m[-1]["train"]["loss"] < m[0]["train"]["loss"] for m in runs.values()]
    return 0 if all(falls) else 1


def table(runs: dict[str, list[dict]], options: argparse.Namespace) -> Table:
    cap = f"at most {options.max_active} trees" if options.max_active else "all trees"
    where = torch.cuda.get_device_name() if options.device == "cuda" else "the CPU"
    found = Table(
        title=f"an epoch of SST, batch {options.batch}, hidden size 300, on {where}, {cap}"
    )
    for heading in ("estimator", "mean support", "seconds", "sentences/s", "over flat", "paper"):
        found.add_column(heading, justify="left" if heading == "estimator" else "right")
    seconds = {
        row: statistics.fmean(m["seconds"] for m in metrics[1:]) for row, metrics in runs.items()
    }
    for row, metrics in runs.items():
        rate = statistics.fmean(m["sentences_per_second"] for m in metrics[1:])
        found.add_row(
            row,
            f"{metrics[-1]['validation']['support']:.1f}",
            f"{seconds[row]:.1f}",
            f"{rate:.0f}",
            f"{seconds[row] / seconds['flat']:.2f}x" if "flat" in seconds else "",
            f"{PAPER[row]:.1f}x" if row in PAPER else "",
        )
    return found


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_option(parser)
    parser.add_argument("--batch", type=int, default=16, help="sentences in a batch (default: 16)")
    parser.add_argument("--only", nargs="+", default=ROWS, choices=ROWS, help="rows of the table")
    parser.add_argument("--epochs", type=int, default=2, help="epochs timed (default: 2)")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--max-active", type=int, default=10, help="0 keeps all trees")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument(
        "--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
