"""The tables of the paper: one row per estimator, learning rates chosen on validation, several
seeds.
"""

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
    """Train every row of a table; a call after an interruption resumes.

    For each estimator, all learning rates are tried with the first seed; the best one on validation
    is trained with the other seeds. The runs are in `folder/ESTIMATOR/lr-LR/seed-SEED`, with - for
    : in the name of the estimator. A failed run is reported in the summary and does not stop the
    others.

    Args:
        rows: the estimators, by name.
        config: the configuration of all runs, except for estimator, learning rate and seed. On the
            CPU each uses one thread unless `threads` is set.
        lrs: learning rates to try.
        seeds: at least one.
        folder: folder of the table.
        workers: number of parallel runs; see `run_jobs`.
        on: where to train.
        progress: shows the progress.

    Returns:
        The summary, which is also written to `folder/table.json`; see `table_summary`. `runs` is
        the number of runs, `failures` has the error messages by folder.

    Raises:
        ValueError: on invalid input, or if a run exists with another configuration.
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
    """The runs of a table with these arguments of `train_table`."""
    if not lrs:
        raise ValueError("a table needs at least one learning rate")
    config = one_thread(config)

    def rates(start: RunConfig) -> list[RunConfig]:
        # Among equally good rates the lowest counts.
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
    """`summarise` of the finished runs of a table.

    Each row also has the chosen `lr` and the validation criterion `by_lr`. The baseline is the row
    of flat trees.
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
