"""The results of runs on the same data: columns, means over seeds, the best."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from sparsewood.lab.report._runs import ReportedRun, by_estimator
from sparsewood.lab.tasks.build import MEASURES
from sparsewood.lab.tasks.measures import LOSS, TREES, Measure

Paper = Mapping[str, Mapping[str, Mapping[str, float]]]  # short name -> test -> metric


@dataclass(frozen=True)
class Column:
    """A metric of a split."""

    split: str
    measure: Measure

    def of(self, run: ReportedRun) -> float | None:
        value = split_results(run).get(self.split, {}).get(self.measure.name)
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def split_results(run: ReportedRun) -> dict[str, Mapping[str, Any]]:
    """The metrics of validation and of each test; of the best epoch so far for unfinished runs."""
    if run.result is not None:
        return {"validation": run.result.get("validation", {}), **run.result.get("tests", {})}
    best = [record for record in run.metrics if record["epoch"] == run.best_epoch]
    return {"validation": best[0].get("validation", {})} if best else {}


def columns_of(runs: Iterable[ReportedRun]) -> list[Column]:
    """The columns of the tests, then of validation; the loss only if there is nothing else."""
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        for split, values in split_results(run).items():
            found.setdefault(split, {}).update(dict.fromkeys(values))
    columns = []
    for split, names in sorted(found.items(), key=lambda item: item[0] == "validation"):
        known = [m for m in MEASURES.values() if m.name in names and m not in TREES]
        columns += [Column(split, m) for m in known if m is not LOSS or len(known) == 1]
    return columns


def criterion(runs: Iterable[ReportedRun]) -> Column | None:
    """The validation criterion; None if no run has completed an epoch."""
    for run in runs:
        if run.task is not None and split_results(run):
            return Column("validation", run.task.metrics.criterion)
    return None


def chosen(runs: Sequence[ReportedRun]) -> tuple[list[ReportedRun], str]:
    """The runs with the best settings of each estimator, and a sentence if others were tried.

    Settings are compared on validation over their common seeds; without common seeds, the settings
    with the most seeds are shown.
    """
    column = criterion(runs)
    kept: list[ReportedRun] = []
    tried: list[str] = []
    for group in by_estimator(runs).values():
        variants: dict[str, list[ReportedRun]] = {}
        for run in group:
            variants.setdefault(run.settings, []).append(run)
        best = group
        if len(variants) > 1:
            best = _best_variant(list(variants.values()), column)
            tried.append(f"{group[0].label} {len(variants)}")
        kept += best
    if not tried:
        return kept, ""
    return kept, f"Settings tried (the best on validation are shown): {', '.join(tried)}."


def _best_variant(
    variants: Sequence[list[ReportedRun]], column: Column | None
) -> list[ReportedRun]:
    common = set.intersection(*({run.seed for run in variant} for variant in variants))

    def quality(variant: list[ReportedRun]) -> tuple[int, float, float]:
        runs = [run for run in variant if run.seed in common] or variant
        found = None if column is None else summary(column.of(run) for run in runs)
        lr = float(runs[0].raw_config.get("training", {}).get("lr", 0.0))
        if column is None or found is None:
            return len(runs), -math.inf, -lr
        return len(runs), (found[0] if column.measure.higher_is_better else -found[0]), -lr

    return max(variants, key=quality)


def summary(values: Iterable[float | None]) -> tuple[float, float | None] | None:
    """Mean and sample standard deviation of the known values (None for fewer than two)."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return mean(known), stdev(known) if len(known) > 1 else None


def headline(columns: Sequence[Column]) -> Column | None:
    """The main column: the first of the first test, otherwise of validation."""
    tests = [column for column in columns if column.split != "validation"]
    return next(iter(tests or columns), None)


def best_of(
    groups: Sequence[Sequence[ReportedRun]], column: Column | None
) -> Sequence[ReportedRun]:
    """The group with the best mean in this column; the first group if there is no column."""

    def quality(group: Sequence[ReportedRun]) -> float:
        found = None if column is None else summary(column.of(run) for run in group)
        if column is None or found is None:
            return -math.inf
        return found[0] if column.measure.higher_is_better else -found[0]

    return max(groups, key=quality, default=[])


@dataclass(frozen=True)
class Told:
    """The findings of a comparison.

    Attributes:
        finding: one or two sentences.
        baseline: the estimator to compare with.
        tried: the label of an estimator -> the results of its tries.
    """

    finding: str
    baseline: str
    tried: Mapping[str, str]
