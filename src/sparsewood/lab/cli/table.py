"""`sparsewood table`: all rows of one of the paper's tables."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from rich.console import Console

from sparsewood.estimators import Given
from sparsewood.lab._files import write_text
from sparsewood.lab.cli._options import Group, parse_options
from sparsewood.lab.cli._runs import (
    RUNS,
    Protocol,
    Workers,
    config_groups,
    example,
    interruptible,
    pick_source,
    place_group,
    runs_below,
    starting_point,
    watched,
    writable_folder,
)
from sparsewood.lab.cli._tables import (
    check_rows,
    check_source,
    latent_sources,
    some,
    summary_table,
    tell_failures,
)
from sparsewood.lab.cli.report import report
from sparsewood.lab.jobs.pool import Place
from sparsewood.lab.run import RunConfig, TrainingConfig
from sparsewood.lab.study.grid import Grid
from sparsewood.lab.study.paper_figures import LATENT, ROWS
from sparsewood.lab.study.table import train_table
from sparsewood.lab.tasks.readers import from_name

DESCRIPTION = (
    "Train all rows of a table of the paper and print it beside the paper's figures.\n"
    "Started again with the same folder it goes on where it stopped."
)
_BY_TABLE = ("estimator", "lr", "seed")  # --estimators, --lrs and --seeds give these
_COMMON = ("estimators", "lrs", "seeds", "workers", "out")
EXAMPLE = "--lrs 0.0005 0.001 --seeds 0 1 2"


@dataclass(frozen=True)
class TableOptions(Protocol, Workers):
    """Which runs make the table.

    Attributes:
        estimators: the rows (sparsemap: at most ten trees), the paper's by default. They are named
            as of --estimator; readers (mean, bow, lstm, chart, transformer) may be among them, and
            "given" needs heads.
        lrs: learning rates; the one that is best on validation with the first seed is taken.
        seeds: of the runs that are averaged.
        out: folder of the table; runs/table-SOURCE by default.
        title: of the report.
    """

    estimators: tuple[Annotated[str, "NAME"], ...] = ()
    lrs: tuple[float, ...] = (TrainingConfig.lr,)
    seeds: tuple[int, ...] = (0,)
    out: Path | None = None
    title: str | None = None


def main(args: list[str]) -> None:
    """Trains what is missing and prints the table."""
    source = pick_source("table", args, DESCRIPTION, EXAMPLE, latent_sources())
    options, place, *parts = parse_options(
        f"sparsewood table {source.name}",
        args,
        [
            Group("table", TableOptions, _COMMON, {"lrs": (starting_point(source, args)[2].lr,)}),
            place_group(),
            *config_groups(source, args, rare=["patience", "threads"], without=_BY_TABLE),
        ],
        DESCRIPTION,
        example("table", source.name, EXAMPLE),
    )
    run_table(RunConfig(*parts), options, place)


def run_table(config: RunConfig, options: TableOptions, place: Place) -> None:
    """Trains what is missing, prints the table, writes table.md and report.html beside it."""
    source = config.source
    rows = options.estimators or default_rows(config)
    some(lrs=options.lrs, seeds=options.seeds)
    for lr in options.lrs:
        replace(config.training, lr=lr)  # ValueError where it is none
    for row in rows:
        replace(config.model, estimator=row)
    folder = writable_folder(options.out or RUNS / f"table-{source.name}")
    if not (folder / "table.json").exists():
        check_source(source, [replace(config.model, estimator=row) for row in rows])
    print(f"table: {folder}", flush=True)
    with watched(folder, config, options.workers, place) as progress, interruptible():
        summary = train_table(
            rows,
            config,
            options.lrs,
            options.seeds,
            folder,
            workers=options.workers,
            on=place,
            progress=progress,
        )
    check_rows(summary)
    write_text(folder / "table.md", Grid.of(summary, source.name).markdown())
    title = options.title or f"Latent trees: {source.name}"
    page = report(runs_below(folder), folder / "report.html", title)
    Console(highlight=False).print(summary_table(summary, source.name))
    print(f"report: {page}", flush=True)
    tell_failures(summary)


def default_rows(config: RunConfig) -> tuple[str, ...]:
    """The rows of the paper, latent trees by the estimator of the model.

    Those that need heads only where heads are to be had.
    """
    source = config.source
    heads = bool(source.heads or source.parser) or source.has_heads
    rows = (config.model.estimator if row == LATENT else row for row in ROWS)
    return tuple(row for row in rows if heads or not isinstance(from_name(row), Given))
