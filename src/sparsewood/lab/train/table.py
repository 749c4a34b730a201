"""The tables of the paper: an estimator a row, rates chosen on validation, several seeds."""

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sparsewood.lab._files import write_json
from sparsewood.lab.tasks.build import TASKS
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.train.config import RunConfig
from sparsewood.lab.train.folder import claim
from sparsewood.lab.train.jobs import Job, run_jobs
from sparsewood.lab.train.paired import compare_runs
from sparsewood.lab.train.paper_figures import BASELINE
from sparsewood.lab.train.pool import LOCAL, Place
from sparsewood.lab.train.progress import Progress
from sparsewood.lab.train.rows import folder_name, learns
from sparsewood.lab.train.run import Run

Key = tuple[str, float, int]  # estimator, learning rate, seed


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
        The summary, which is also written to `folder/table.json`; see `summarise`.

    Raises:
        ValueError: on bad input, or where a run is there with another configuration.
    """
    if not (rows and lrs and seeds):
        raise ValueError("a table needs at least one estimator, one learning rate and one seed")
    folder, seeds = Path(folder), list(dict.fromkeys(seeds))
    rows = list(dict.fromkeys(replace(config.model, estimator=row).estimator for row in rows))
    threads = config.training.threads or 1
    config = replace(config, training=replace(config.training, threads=threads))
    failures: dict[str, str] = {}
    open_grids = {row: len(set(lrs)) for row in rows}

    def job(row: str, lr: float, seed: int) -> Job:
        training = replace(config.training, lr=lr, seed=seed)
        model = replace(config.model, estimator=row)
        run = folder / folder_name(row) / f"lr-{lr:g}" / f"seed-{seed}"
        # The longest runs first, so that no worker is left alone with one at the end.
        return Job(RunConfig(config.source, model, training), run, 0 if learns(row) else 1)

    def done(finished: Job, error: str | None) -> Iterable[Job]:
        if error is not None:
            failures[finished.folder.relative_to(folder).as_posix()] = error
        row = finished.config.model.estimator
        if finished.config.training.seed == seeds[0]:
            open_grids[row] -= 1
            if open_grids[row] == 0:
                lr = choose_lr(finished_runs(folder), row, lrs, seeds[0])
                return [] if lr is None else [job(row, lr, seed) for seed in seeds[1:]]
        return []

    for row, lr, seed in itertools.product(rows, lrs, seeds):
        there = job(row, lr, seed)
        claim(there.config, there.folder, resume=True)
    first = [job(row, lr, seeds[0]) for row in rows for lr in dict.fromkeys(lrs)]
    run_jobs(first, done, workers=workers, on=on, progress=progress)
    summary = summarise(finished_runs(folder), rows, lrs, seeds)
    summary["failures"] = failures
    write_json(folder / "table.json", summary)
    return summary


def finished_runs(folder: Path) -> dict[Key, Run]:
    """The finished runs of a table, whatever their folders are called."""
    found: dict[Key, Run] = {}
    for path in sorted(folder.glob("*/*/*/result.json")):
        run = Run(path.parent)
        training = run.config.training
        found[run.config.model.estimator, training.lr, training.seed] = run
    return found


def choose_lr(runs: Mapping[Key, Run], row: str, lrs: Sequence[float], seed: int) -> float | None:
    """The learning rate whose run is best on validation, of equals the lowest; None without."""
    found = {lr: _score(runs[row, lr, seed]) for lr in lrs if (row, lr, seed) in runs}
    return max(found, key=lambda lr: (found[lr], -lr)) if found else None


def summarise(
    finished: Mapping[Key, Run], rows: Sequence[str], lrs: Sequence[float], seeds: Sequence[int]
) -> dict[str, Any]:
    """What the finished runs of a table say.

    Returns:
        `{"criterion": ..., "rows": {estimator: row}}`, a row having the `lr` chosen, the criterion
        on validation `by_lr`, and over the `seeds` that are finished: `validation` and `tests`,
        with `{"mean", "std", "values"}` for each metric, the `temperatures`, `certified` with
        `{"certified", "sentences", "capped"}` over all tests and seeds, and the mean
        `seconds_per_epoch`, `sentences_per_second` and `epochs`. Spread is that of a sample.
        `against` has, for each test, the `Comparison` of the criterion with that of flat trees; it
        is empty for that row itself, and where runs have kept no outcomes.
    """
    summary: dict[str, Any] = {"rows": {}}
    chosen: dict[str, list[Run]] = {}
    for row in rows:
        lr = choose_lr(finished, row, lrs, seeds[0])
        if lr is None:
            continue
        runs = [finished[row, lr, seed] for seed in seeds if (row, lr, seed) in finished]
        chosen[row] = runs
        results = [run.result for run in runs if run.result is not None]
        epochs = [record for run in runs for record in run.metrics]
        criterion = summary["criterion"] = results[0]["criterion"]
        by_lr = {rate: finished.get((row, rate, seeds[0])) for rate in lrs}
        summary["rows"][row] = {
            "lr": lr,
            "by_lr": {
                f"{rate:g}": run.result["validation"][criterion]
                for rate, run in by_lr.items()
                if run is not None and run.result is not None
            },
            "seeds": [run.config.training.seed for run in runs],
            "validation": _spread([result["validation"] for result in results]),
            "tests": {
                name: _spread([result["tests"][name] for result in results])
                for name in results[0]["tests"]
            },
            "certified": _certified(results),
            "temperatures": [result["temperature"] for result in results],
            "epochs": statistics.fmean(result["epochs"] for result in results),
            "seconds_per_epoch": statistics.fmean(e["seconds"] for e in epochs),
            "sentences_per_second": statistics.fmean(e["sentences_per_second"] for e in epochs),
        }
    for row, runs in chosen.items():
        others = chosen.get(BASELINE, []) if row != BASELINE else []
        found = compare_runs(runs, others)
        summary["rows"][row]["against"] = {test: asdict(one) for test, one in found.items()}
    return summary


def _score(run: Run) -> float:
    """The criterion on validation, higher being better."""
    assert run.result is not None
    value = run.result["validation"][run.result["criterion"]]
    better = TASKS[run.config.source.task].metrics.criterion.higher_is_better
    return value if better else -value


def _certified(results: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The certificates of the tests, or of validation where there are none."""
    splits = [values for r in results for values in (r["tests"] or {"": r["validation"]}).values()]
    found = Certificates.total(Certificates.of(values) for values in splits)
    return None if found is None else asdict(found)


def _spread(results: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    spread = {}
    for name, first in results[0].items():
        if isinstance(first, dict):  # the histogram, the confusion matrix
            continue
        values = [result[name] for result in results]
        spread[name] = {
            "mean": statistics.fmean(values),
            "std": statistics.stdev(values) if len(values) > 1 else None,
            "values": values,
        }
    return spread
