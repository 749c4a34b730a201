"""`sparsewood table`: all rows of one of the paper's tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from sparsewood.estimators import Given
from sparsewood.estimators import parse as parse_estimator
from sparsewood.lab._files import write_text
from sparsewood.lab.cli._options import Group, parse
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
from sparsewood.lab.cli.report import report
from sparsewood.lab.data.sources import SOURCES
from sparsewood.lab.tasks.build import MEASURES, TASKS
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.tasks.measures import ATTACHMENT, WITHOUT_BRACKETS
from sparsewood.lab.tasks.model_config import ESTIMATORS, ModelConfig
from sparsewood.lab.tasks.parsing import load_corpus
from sparsewood.lab.train import RunConfig, TrainingConfig
from sparsewood.lab.train.grid import AGAINST, CERTIFIED, VALIDATION, Grid
from sparsewood.lab.train.paper_figures import LATENT, ROWS
from sparsewood.lab.train.pool import Place
from sparsewood.lab.train.prepare import check
from sparsewood.lab.train.rows import learns
from sparsewood.lab.train.table import train_table

DESCRIPTION = (
    "Train all rows of a table of the paper and print it beside the paper's figures.\n"
    "Started again with the same folder it goes on where it stopped."
)
_BY_TABLE = ("estimator", "lr", "seed")  # --estimators, --lrs and --seeds give these
# Heads that cost columns.
_NARROW = {m.label: m.heading for m in MEASURES.values()} | {"s/epoch": "s per\nepoch"}
EXAMPLE = "--lrs 0.0005 0.001 --seeds 0 1 2"


@dataclass(frozen=True)
class TableOptions(Protocol, Workers):
    """Which runs make the table.

    Attributes:
        estimators: the rows; "given" needs heads. Those of the paper by default.
        lrs: learning rates; the one that is best on validation with the first seed is taken.
        seeds: of the runs that are averaged.
        out: folder of the table; runs/table-SOURCE by default.
        title: of the report.
    """

    estimators: tuple[Annotated[str, ESTIMATORS], ...] = ()
    lrs: tuple[float, ...] = (TrainingConfig.lr,)
    seeds: tuple[int, ...] = (0,)
    out: Path | None = None
    title: str | None = None


def main(args: list[str]) -> None:
    """Trains what is missing and prints the table."""
    kinds = {n: s for n, s in SOURCES.items() if TASKS[s.task].config is ModelConfig}
    source = pick_source("table", args, DESCRIPTION, EXAMPLE, kinds)
    options, place, *parts = parse(
        f"sparsewood table {source.name}",
        args,
        [
            Group("table", TableOptions, defaults={"lrs": (starting_point(source, args)[2].lr,)}),
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
    for name in ("lrs", "seeds"):
        if not getattr(options, name):
            raise ValueError(f"--{name}: expected at least one value")
    for lr in options.lrs:
        replace(config.training, lr=lr)  # ValueError where it is none
    for row in rows:
        replace(config.model, estimator=row)
    folder = writable_folder(options.out or RUNS / f"table-{source.name}")
    if not (folder / "table.json").exists():
        _check_source(config, rows)
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
    failures = list(summary["failures"].values())
    if not summary["rows"]:
        raise ValueError(failures[0])
    write_text(folder / "table.md", Grid.of(summary, source.name).markdown())
    title = options.title or f"Latent trees: {source.name}"
    page = report(runs_below(folder), folder / "report.html", title)
    Console(highlight=False).print(summary_table(summary, source.name))
    print(f"report: {page}", flush=True)
    if failures:
        done = sum(len(row["by_lr"]) + len(row["seeds"]) - 1 for row in summary["rows"].values())
        raise ValueError(
            f"{len(failures)} of {len(failures) + done} runs failed: "
            + "; ".join(dict.fromkeys(failures))
        )


def _check_source(config: RunConfig, rows: Sequence[str]) -> None:
    """Raise ValueError now, and not once for each run, where the data cannot be read."""
    corpus = load_corpus(config.source)
    for row in rows:
        check(corpus, replace(config.model, estimator=row), lambda _: None)


def default_rows(config: RunConfig) -> tuple[str, ...]:
    """The rows of the paper, latent trees by the estimator of the model.

    Those that need heads only where heads are to be had.
    """
    source = config.source
    heads = bool(source.heads or source.parser) or source.name == "listops"
    rows = (config.model.estimator if row == LATENT else row for row in ROWS)
    return tuple(row for row in rows if heads or not isinstance(parse_estimator(row), Given))


def summary_table(summary: dict[str, Any], source: str) -> Table:
    """The grid without what a terminal is too narrow for, the paper's figures under ours."""
    grid = Grid.of(summary, source)
    places = range(len(grid.heads))
    told = [i for i in places if len(grid.tests) > 1 and grid.heads[i].endswith(AGAINST)]
    left_out = {VALIDATION, CERTIFIED}
    if WITHOUT_BRACKETS.label in grid.heads:
        left_out.add(ATTACHMENT.label)
    shown = [i for i in places if i not in told and grid.heads[i] not in left_out]
    table = Table(
        Column("estimator", no_wrap=True),
        title=f"{source}, {', '.join(grid.tests)}",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for i in shown:
        head = grid.heads[i]
        table.add_column(_NARROW.get(head, head.replace(" ", "\n", 1)), justify="right")
    notes = list(grid.notes)
    for (row, found), (name, cells) in zip(summary["rows"].items(), grid.rows.items(), strict=True):
        style = "bold" if learns(row) else None
        table.add_row(name, *(_in_two(cells[i]) for i in shown), style=style)
        remarks = [f"{grid.heads[i]} {cells[i]}" for i in told if cells[i]]
        if certified := found.get("certified"):
            remarks.append(str(Certificates(**certified)))
        if remarks:
            notes.append(f"{name}: {'; '.join(remarks)}.")
    table.caption, table.caption_justify = "\n".join(notes), "left"
    return table


def _in_two(cell: str) -> str:
    """A cell with the paper's figure, or the interval, on a line of its own."""
    return cell.replace(" (", "\n(").replace(" [", "\n[")
