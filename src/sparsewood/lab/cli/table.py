"""`sparsewood table`: train the rows of one of the paper's tables."""

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
    "Train all rows of a table of the paper and print them beside the paper's figures.\n"
    "A table that was stopped is resumed by the same command with the same folder."
)
_BY_TABLE = ("estimator", "lr", "seed")  # set by --estimators, --lrs and --seeds
_COMMON = ("estimators", "lrs", "seeds", "workers", "out")
EXAMPLE = "--lrs 0.0005 0.001 --seeds 0 1 2"


@dataclass(frozen=True)
class TableOptions(Protocol, Workers):
    """Which runs to train for the table.

    Attributes:
        estimators: rows of the table, named as for --estimator. Default: the paper's. Readers
            (mean, bow, lstm, chart, transformer) are allowed, "given" needs heads, and sparsemap
            keeps at most ten trees per sentence.
        lrs: learning rates to try on validation, with the first seed.
        seeds: seeds to average over.
        out: folder of the table. Default: runs/table-SOURCE.
        title: title of the report.
    """

    estimators: tuple[Annotated[str, "NAME"], ...] = ()
    lrs: tuple[float, ...] = (TrainingConfig.lr,)
    seeds: tuple[int, ...] = (0,)
    out: Path | None = None
    title: str | None = None


def main(args: list[str]) -> None:
    """Train missing runs and print the table."""
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
    """Train missing runs, print the table, and write table.md and report.html."""
    source = config.source
    rows = options.estimators or default_rows(config)
    some(lrs=options.lrs, seeds=options.seeds)
    for lr in options.lrs:
        replace(config.training, lr=lr)  # raises ValueError if it is invalid
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
    """The rows of the paper, with the estimator of the model for latent trees. Rows that need heads
    are included only if the source has heads.
    """
    source = config.source
    heads = bool(source.heads or source.parser) or source.has_heads
    rows = (config.model.estimator if row == LATENT else row for row in ROWS)
    return tuple(row for row in rows if heads or not isinstance(from_name(row), Given))
