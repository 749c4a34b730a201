"""The tables of the paper: an estimator a row, rates chosen on validation, several seeds."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sparsewood.lab.jobs.pool import LOCAL, Place
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.progress import Progress
from sparsewood.lab.study.paper_figures import BASELINE
from sparsewood.lab.study.rows import folder_of
from sparsewood.lab.study.search import Row, Search, canonical, one_thread, validation
from sparsewood.lab.study.summary import summarise


def train_table(
    rows: Sequence[str],
    config: RunConfig,
    lrs: Sequence[float],
    seeds: Sequence[int],
    folder: Path | str,
    *,
    workers: int | None = 1,
    on: Place = LOCAL,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train every row of a table; started again, it goes on where it stopped.

    For each estimator all learning rates are tried with the first seed; the one that is best on
    validation is trained with the other seeds. The runs are in `folder/ESTIMATOR/lr-LR/seed-SEED`,
    with - for : in the name of the estimator. A run that fails is reported in the summary and
    stops no other.

    Args:
        rows: the estimators, by name.
        config: of all runs, but for estimator, learning rate and seed. On the CPU each uses one
            thread unless `threads` says otherwise.
        lrs: the grid of learning rates.
        seeds: at least one.
        folder: of the table.
        workers: runs that train at a time; see `run_jobs`.
        on: where they are trained.
        progress: what to show.

    Returns:
        The summary, which is also written to `folder/table.json`; see `table_summary`. `runs` says
        how many there were, `failures` what went wrong, by the folder of the run.

    Raises:
        ValueError: on bad input, or where a run is there with another configuration.
    """
    search = table_search(rows, config, lrs, seeds, folder)
    return search.run(table_summary, "table.json", workers=workers, on=on, progress=progress)


def table_search(
    rows: Sequence[str],
    config: RunConfig,
    lrs: Sequence[float],
    seeds: Sequence[int],
    folder: Path | str,
) -> Search:
    """The runs that make the table of these arguments of `train_table`."""
    if not lrs:
        raise ValueError("a table needs at least one learning rate")
    config = one_thread(config)

    def rates(start: RunConfig) -> list[RunConfig]:
        # Of equally good rates the lowest is taken.
        return [replace(start, training=replace(start.training, lr=lr)) for lr in sorted(set(lrs))]

    return Search(
        {
            row: Row(replace(config, model=replace(config.model, estimator=row)), (rates,))
            for row in canonical(config, rows)
        },
        seeds,
        folder,
        partial(_place, Path(folder)),
    )


def table_summary(search: Search) -> dict[str, Any]:
    """What `summarise` has of the finished runs of a table.

    Each row has the `lr` chosen and the criterion on validation `by_lr` besides. The baseline is
    the row of flat trees.
    """
    found = search.found()
    summary = summarise({name: row.runs for name, row in found.items()}, BASELINE)
    for name, row in found.items():
        tried = {run.config.training.lr: validation(run) for run in row.tried}
        summary["rows"][name] |= {
            "lr": row.runs[0].config.training.lr,
            "by_lr": {f"{lr:g}": value for lr, value in tried.items()},
        }
    return summary


def _place(root: Path, config: RunConfig) -> Path:
    training = config.training
    row = folder_of(config.model.estimator, root)
    return Path(row, f"lr-{training.lr:g}", f"seed-{training.seed}")
