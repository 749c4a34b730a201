"""The tables of the paper: every strategy, learning rates chosen on validation, several seeds."""

import itertools
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sparsewood.lab._files import write_json
from sparsewood.lab.tasks.build import TASKS
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.train.config import RunConfig
from sparsewood.lab.train.folder import claim
from sparsewood.lab.train.jobs import Job, run_jobs
from sparsewood.lab.train.progress import Progress
from sparsewood.lab.train.run import Run
from sparsewood.nn.latent import Strategy

# The longest runs first, so that no worker is left alone with one at the end.
_ORDER: tuple[Strategy, ...] = ("latent", "given", "left_to_right", "right_to_left", "flat")


def train_table(
    rows: Sequence[Strategy],
    config: RunConfig,
    lrs: Sequence[float],
    seeds: Sequence[int],
    folder: Path | str,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train every row of a table; started again, it goes on where it stopped.

    For each strategy all learning rates are tried with the first seed; the one that is best on
    validation is trained with the other seeds. The runs are in `folder/STRATEGY/lr-LR/seed-SEED`.
    A run that fails is reported in the summary and stops no other.

    Args:
        rows: the strategies.
        config: of all runs, but for strategy, learning rate and seed. On the CPU each uses one
            thread unless `threads` says otherwise.
        lrs: the grid of learning rates.
        seeds: at least one.
        folder: of the table.
        workers: runs that train at a time.
        progress: what to show.

    Returns:
        The summary, which is also written to `folder/table.json`; see `summarise`.

    Raises:
        ValueError: on bad input, or where a run is there with another configuration.
    """
    if not (rows and lrs and seeds):
        raise ValueError("a table needs at least one strategy, one learning rate and one seed")
    folder, seeds = Path(folder), list(dict.fromkeys(seeds))
    threads = config.training.threads or 1
    config = replace(config, training=replace(config.training, threads=threads))
    failures: dict[str, str] = {}
    open_grids = {row: len(set(lrs)) for row in rows}

    def job(row: Strategy, lr: float, seed: int) -> Job:
        training = replace(config.training, lr=lr, seed=seed)
        model = replace(config.model, trees=row)
        run = _run_folder(folder, row, lr, seed)
        return Job(RunConfig(config.source, model, training), run, _ORDER.index(row))

    def done(finished: Job, error: str | None) -> Iterable[Job]:
        if error is not None:
            failures[finished.folder.relative_to(folder).as_posix()] = error
        row = finished.config.model.trees
        if finished.config.training.seed == seeds[0]:
            open_grids[row] -= 1
            if open_grids[row] == 0 and (lr := choose_lr(folder, row, lrs, seeds[0])) is not None:
                return [job(row, lr, seed) for seed in seeds[1:]]
        return []

    for row, lr, seed in itertools.product(rows, lrs, seeds):
        there = job(row, lr, seed)
        claim(there.config, there.folder, resume=True)
    first = [job(row, lr, seeds[0]) for row in dict.fromkeys(rows) for lr in dict.fromkeys(lrs)]
    run_jobs(first, done, workers=workers, progress=progress)
    summary = summarise(folder, rows, lrs, seeds)
    summary["failures"] = failures
    write_json(folder / "table.json", summary)
    return summary


def choose_lr(folder: Path, row: str, lrs: Sequence[float], seed: int) -> float | None:
    """The learning rate whose run is best on validation, of equals the lowest; None without."""
    scores = {lr: _score(_run(folder, row, lr, seed)) for lr in lrs}
    found = {lr: score for lr, score in scores.items() if score is not None}
    return max(found, key=lambda lr: (found[lr], -lr)) if found else None


def summarise(
    folder: Path | str, rows: Sequence[str], lrs: Sequence[float], seeds: Sequence[int]
) -> dict[str, Any]:
    """What the finished runs of a table say.

    Returns:
        `{"criterion": ..., "rows": {strategy: row}}`, a row having the `lr` chosen, the criterion
        on validation `by_lr`, and over the `seeds` that are finished: `validation` and `tests`,
        with `{"mean", "std", "values"}` for each metric, the `temperatures`, `certified` with
        `{"certified", "sentences", "capped"}` over all tests and seeds, and the mean
        `seconds_per_epoch`, `sentences_per_second` and `epochs`. Spread is that of a sample.
    """
    folder = Path(folder)
    summary: dict[str, Any] = {"rows": {}}
    for row in rows:
        lr = choose_lr(folder, row, lrs, seeds[0])
        if lr is None:
            continue
        runs = [run for seed in seeds if (run := _run(folder, row, lr, seed)) is not None]
        results = [run.result for run in runs if run.result is not None]
        epochs = [record for run in runs for record in run.metrics]
        criterion = summary["criterion"] = results[0]["criterion"]
        by_lr = {rate: _run(folder, row, rate, seeds[0]) for rate in lrs}
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
    return summary


def _run_folder(folder: Path, row: str, lr: float, seed: int) -> Path:
    return folder / row / f"lr-{lr:g}" / f"seed-{seed}"


def _run(folder: Path, row: str, lr: float, seed: int) -> Run | None:
    """The run, if it is finished."""
    path = _run_folder(folder, row, lr, seed)
    return Run(path) if (path / "result.json").exists() else None


def _score(run: Run | None) -> float | None:
    """The criterion on validation, higher being better."""
    if run is None or run.result is None:
        return None
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
