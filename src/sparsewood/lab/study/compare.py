"""Comparisons of estimators with the same budget, with settings chosen on validation."""

import statistics
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sparsewood.estimators.names import parse
from sparsewood.lab.jobs.pool import LOCAL, Place
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.progress import Progress
from sparsewood.lab.study.finding import finding
from sparsewood.lab.study.paper_figures import BASELINE
from sparsewood.lab.study.rows import folder_of
from sparsewood.lab.study.search import Row, RowResult, Search, one_thread, validation
from sparsewood.lab.study.settings import SETTINGS, settings, start
from sparsewood.lab.study.summary import summarise
from sparsewood.lab.tasks.measures import SUPPORT
from sparsewood.lab.tasks.model_config import COMPOSERS, ModelConfig

PARSER_LRS = (0.0001, 0.0003, 0.001)


def train_comparison(
    estimators: Sequence[str],
    config: RunConfig,
    parser_lrs: Sequence[float],
    seeds: Sequence[int],
    folder: Path | str,
    *,
    own_settings: bool = True,
    workers: int | None = 1,
    on: Place = LOCAL,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train every estimator with the same budget; a call after an interruption resumes.

    With the first seed, all learning rates of the parser are tried, then the settings of the
    estimator (`SETTINGS`) at the best rate; the best configuration on validation is trained with
    the other seeds. The runs are in `folder/ESTIMATOR/parser-lr-LR/seed-SEED`, with - for : in the
    name of the estimator. A failed run is reported in the summary and does not stop the others.

    Args:
        estimators: the estimators by name. The settings of one with options are not tried. One
            without learned trees, such as flat trees, has one run per seed.
        config: the configuration of all runs, except for the estimator, the parser's learning rate,
            the seed, and the changes by `suited`; its `max_epochs` and `max_seconds` are the budget
            of each run. On the CPU each uses one thread unless `threads` is set.
        parser_lrs: learning rates of the parser to try.
        seeds: at least one.
        folder: folder of the comparison.
        own_settings: try the settings of each estimator.
        workers: number of parallel runs; see `run_jobs`.
        on: where to train.
        progress: shows the progress.

    Returns:
        The summary, which is also written to `folder/compare.json`; see `comparison_summary`.
        `runs` is the number of runs, `failures` has the error messages by folder.

    Raises:
        ValueError: on invalid input, if the composer cannot read an estimator, or if a run exists
            with another configuration.
    """
    search = comparison_search(estimators, config, parser_lrs, seeds, folder, own_settings)
    return search.run(comparison_summary, "compare.json", workers=workers, on=on, progress=progress)


def comparison_search(
    estimators: Sequence[str],
    config: RunConfig,
    parser_lrs: Sequence[float],
    seeds: Sequence[int],
    folder: Path | str,
    own_settings: bool = True,
) -> Search:
    """The runs of a comparison with these arguments of `train_comparison`."""
    if not parser_lrs:
        raise ValueError("a comparison needs at least one learning rate of the parser")
    rates = sorted(set(parser_lrs))  # among equals the lowest counts
    config = one_thread(config)
    others: dict[str, list[str]] = {}
    for name in estimators:
        others.setdefault(start(name), []).extend(settings(name) if own_settings else [])

    def row(name: str) -> Row:
        first = replace(config, model=suited(config.model, name))
        first = replace(first, training=replace(first.training, parser_lr=None))
        if parse(name).gradient_through == "none":
            return Row(first, (lambda one: [one],))
        tried = dict.fromkeys(suited(config.model, other).estimator for other in others[name])
        return Row(
            first,
            (
                lambda one: [
                    replace(one, training=replace(one.training, parser_lr=lr)) for lr in rates
                ],
                lambda best: [
                    replace(best, model=replace(best.model, estimator=estimator))
                    for estimator in tried
                ],
            ),
        )

    rows = {name: row(name) for name in others}
    return Search(rows, seeds, folder, partial(_place, Path(folder)))


def suited(model: ModelConfig, name: str) -> ModelConfig:
    """The model with another estimator and the changes that it requires.

    For soft parts, a composer that reads only whole trees is replaced by messages. A random
    estimator gets no additional noise on the scores, and if it returns samples, the loss for which
    their gradient is unbiased.
    """
    estimator = parse(name)
    soft = not estimator.gives_structures and not COMPOSERS[model.composer].reads_soft
    samples = estimator.is_random and estimator.gradient_through == "weights"
    return replace(
        model,
        estimator=name,
        composer="messages" if soft else model.composer,
        noise=0.0 if estimator.is_random else model.noise,
        loss="expected" if samples else model.loss,
    )


def default_estimators(config: RunConfig) -> tuple[str, ...]:
    """Flat trees, and all estimators in `SETTINGS` that the composer can read."""

    def fits(name: str) -> bool:
        try:
            suited(config.model, start(name))
        except ValueError:
            return False
        return True

    return (BASELINE, *(name for name in SETTINGS if fits(name)))


def comparison_summary(search: Search) -> dict[str, Any]:
    """`summarise` of the finished runs of a comparison, and a `finding` in words.

    Each row has the folders of its `runs`, the `estimator` chosen, its `composer` and `parser_lr`,
    `tried` with the validation criterion of every try, and the means over seeds of `seconds` of
    training, of `calls` of inference per example and epoch, and of `training_support`, the trees
    per sentence in training. The baseline is the row of flat trees, or else the first.
    """
    found = search.found()
    baseline = BASELINE if BASELINE in found else next(iter(search.rows))
    chosen = {name: row.runs for name, row in found.items()}
    summary = summarise(chosen, baseline)
    for name, row in found.items():
        runs = [search.name(run.folder) for run in row.runs]
        summary["rows"][name] |= {"runs": runs, **_own(row)}
    return {"finding": finding(chosen, summary), **summary} if found else summary


def _own(row: RowResult) -> dict[str, Any]:
    best = row.runs[0].config
    epochs = [record for run in row.runs for record in run.metrics]
    results = [run.result for run in row.runs if run.result is not None]
    return {
        "estimator": best.model.estimator,
        "composer": best.model.composer,
        "parser_lr": best.training.parser_lr,
        "tried": [
            {
                "estimator": run.config.model.estimator,
                "parser_lr": run.config.training.parser_lr,
                "validation": validation(run),
            }
            for run in row.tried
        ],
        "seconds": statistics.fmean(result["seconds"] for result in results),
        "calls": statistics.fmean(record["calls"] for record in epochs),
        "training_support": statistics.fmean(
            record["train"].get(SUPPORT.name, 1.0) for record in epochs
        ),
    }


def _place(root: Path, config: RunConfig) -> Path:
    training = config.training
    lr = training.parser_lr
    rate = "no-parser" if lr is None else f"parser-lr-{lr:g}"
    return Path(folder_of(config.model.estimator, root), rate, f"seed-{training.seed}")
