"""`sparsewood report`: write a report of runs as one HTML page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from sparsewood.lab.cli._options import Group, parse_options
from sparsewood.lab.cli._runs import runs_below, writable_file
from sparsewood.lab.report import Told, write_report
from sparsewood.lab.run import Run
from sparsewood.lab.study.paper_figures import PAPER


@dataclass(frozen=True)
class ReportOptions:
    """What to report.

    Attributes:
        runs: folders of runs, or folders with runs in them.
        out: output file.
        title: title of the page.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    out: Path = Path("report.html")
    title: str = "Latent trees"


def main(args: list[str]) -> None:
    """Write the page and print its path."""
    (options,) = parse_options(
        "sparsewood report",
        args,
        [Group("page", ReportOptions)],
        "Write a report of runs as one HTML page that works without a network.",
        "sparsewood report runs/sst-flat-1 runs/sst-sparsemap-1 --out sst.html",
    )
    writable_file(options.out)
    runs = [run for folder in options.runs for run in runs_below(folder)]
    print(f"report: {report(runs, options.out, options.title)}")


def report(runs: Sequence[Path], out: Path, title: str, told: Told | None = None) -> Path:
    """Write the report of runs, with the paper's figures if all are on one of its data sets. The
    report of a comparison has its finding and tries instead of the paper's figures.
    """
    sources = {Run(run).raw_config.get("source", {}).get("kind") for run in runs}
    paper = PAPER.get(sources.pop() or "") if len(sources) == 1 and told is None else None
    return write_report(runs, out, title, paper, told)
