"""Shared by the commands that train rows of runs: sources, checks, tables for the terminal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Column, Table

from sparsewood.lab.data.sources import SOURCES, Source
from sparsewood.lab.run.prepare import check
from sparsewood.lab.study.grid import ASIDE, TRAINING_TREES, Grid
from sparsewood.lab.study.rows import learns, setting
from sparsewood.lab.tasks.build import MEASURES, TASKS
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.tasks.measures import ATTACHMENT, SUPPORT, WITHOUT_BRACKETS
from sparsewood.lab.tasks.model_config import ModelConfig
from sparsewood.lab.tasks.parsing import load_corpus

# Narrow headings of columns.
_NARROW = {m.label: m.heading for m in MEASURES.values()}
_NARROW |= {"s/epoch": "s per\nepoch", TRAINING_TREES: "trees"}


def latent_sources() -> dict[str, type[Source]]:
    """The sources whose task has latent trees."""
    return {n: s for n, s in SOURCES.items() if issubclass(TASKS[s.task].config, ModelConfig)}


def some(**options: Sequence[Any]) -> None:
    """Raise ValueError if an option has no value."""
    for name, values in options.items():
        if not values:
            raise ValueError(f"--{name.replace('_', '-')}: expected at least one value")


def check_source(source: Source, models: Iterable[ModelConfig]) -> None:
    """Raise ValueError if the data cannot be read, before any run starts."""
    corpus = load_corpus(source)
    for model in models:
        check(corpus, model, lambda _: None)


def check_rows(summary: Mapping[str, Any]) -> None:
    """Raise ValueError with the reason if no run has finished."""
    if not summary["rows"]:
        raise ValueError(next(iter(summary["failures"].values())))


def tell_failures(summary: Mapping[str, Any]) -> None:
    """Raise ValueError with the number and the reasons if some runs have failed."""
    failures = list(summary["failures"].values())
    if failures:
        raise ValueError(
            f"{len(failures)} of {summary['runs']} runs failed: "
            + "; ".join(dict.fromkeys(failures))
        )


def summary_table(summary: Mapping[str, Any], source: str) -> Table:
    """The grid for a terminal: fewer columns, and the paper's figures below ours.

    For a comparison, or several tests, seeds and epochs that all rows share are in the title.
    """
    grid = Grid.of(summary, source)
    places = range(len(grid.heads))
    told = [i for i in places if len(grid.tests) > 1 and grid.heads[i].endswith(grid.against)]
    compared = "finding" in summary
    shared = _shared(grid) if compared or len(grid.tests) > 1 else {}
    left_out = {*ASIDE, *shared, *([SUPPORT.label] * compared)}
    if WITHOUT_BRACKETS.label in grid.heads:
        left_out.add(ATTACHMENT.label)
    shown = [i for i in places if i not in told and grid.heads[i] not in left_out]
    table = Table(
        Column("estimator", no_wrap=True),
        title=", ".join([source, *grid.tests, *shared.values()]),
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
        chosen = setting(found.get("estimator", ""))
        first = name if not chosen or name.endswith(f":{chosen}") else f"{name}\n {chosen}"
        table.add_row(first, *(_in_two(cells[i], compared) for i in shown), style=style)
        remarks = [f"{grid.heads[i]} {cells[i]}" for i in told if cells[i]]
        if certified := found.get("certified"):
            remarks.append(str(Certificates(**certified)))
        if remarks:
            notes.append(f"{name}: {'; '.join(remarks)}.")
    table.caption, table.caption_justify = "\n".join(notes), "left"
    return table


def _shared(grid: Grid) -> dict[str, str]:
    """The columns in which all rows agree, in words, by heading."""
    found: dict[str, str] = {}
    for head in (head for head in ("seeds", "epochs") if head in grid.heads):
        values = {cells[grid.heads.index(head)] for cells in grid.rows.values()}
        if len(values) == 1:
            number = values.pop()
            found[head] = f"{number} {head if number != '1' else head[:-1]}"
    return found


def _in_two(cell: str, narrow: bool) -> str:
    """The cell with the paper's figure, or the interval, on a line of its own.

    In a `narrow` column the spread gets its own line too.
    """
    cell = cell.replace(" (", "\n(").replace(" [", "\n[")
    return cell.replace(" ±", "\n±") if narrow else cell
