"""The charts of runs on the same data."""

from collections.abc import Sequence
from math import log2

from sparsewood.lab.report._axes import short as axis
from sparsewood.lab.report._axes import ticks
from sparsewood.lab.report._results import criterion
from sparsewood.lab.report._runs import ReportedRun, by_estimator
from sparsewood.lab.report.charts import Series, figure, line_chart
from sparsewood.lab.tasks.build import MEASURES
from sparsewood.lab.tasks.measures import (
    AGREEMENT,
    ATTACHMENT,
    LOSS,
    TREES,
    WITHOUT_BRACKETS,
    Measure,
)


def learning_curves(runs: Sequence[ReportedRun]) -> list[str]:
    """Training loss and validation metrics by epoch."""
    told = [m for m in MEASURES.values() if m.brief and m not in TREES]
    charts = [("Training", "train", LOSS), *(("Validation", "validation", m) for m in told)]
    figures = [
        _history(runs, f"{name} {measure.label}", split, measure)
        for name, split, measure in charts
        if _known(runs, split, measure.name)
    ]
    return figures + _by_second(runs) * (len(by_estimator(runs)) > 1)


def _by_second(runs: Sequence[ReportedRun]) -> list[str]:
    """The criterion on validation by training time."""
    column = criterion(runs)
    if column is None or not _known(runs, column.split, column.measure.name):
        return []
    lines = []
    for run in runs:
        ends, points = run.ends, run.history(column.split, column.measure.name)
        best = () if run.best_epoch is None else (ends[run.best_epoch],)
        lines.append(_series(run, [(ends[epoch], y) for epoch, y in points], best))
    seconds = [x for line in lines for x, _ in line.points]
    names = {x: axis(x) for x in ticks(min(seconds), max(seconds) + 1e-9)}
    title, unit = f"Validation {column.measure.label} by seconds of training", column.measure.unit
    return [figure(title, line_chart(lines, title, "seconds", x_names=names, unit=unit))]


def tree_curves(runs: Sequence[ReportedRun]) -> list[str]:
    """Statistics of the tree posteriors by epoch; empty without latent trees."""
    latent = [run for run in runs if run.latent]
    if not latent:
        return []
    # Fixed trees never change: one run per estimator is enough. Given trees are at 100 %.
    rows = by_estimator(run for run in runs if not run.latent)
    arcs = {row: group[0].history("validation", ATTACHMENT.name) for row, group in rows.items()}
    fixed = [rows[row][0] for row, found in arcs.items() if any(y < 100 for _, y in found)]
    figures = []
    for measure in TREES:
        if _known(latent, "validation", measure.name):
            others = fixed if measure in (AGREEMENT, ATTACHMENT, WITHOUT_BRACKETS) else ()
            title, zero = measure.title, measure.unit == "%"
            figures.append(_history(latent, title, "validation", measure, zero=zero, fixed=others))
    return figures


def temperature_curves(runs: Sequence[ReportedRun]) -> list[str]:
    """The criterion on validation by temperature, the chosen one marked."""
    lines = []
    column = criterion(runs)
    for run in runs:
        if run.result is None or not run.result.get("temperature_curve"):
            continue
        curve = {float(t): float(value) for t, value in run.result["temperature_curve"].items()}
        points = [(log2(t), value) for t, value in sorted(curve.items())]
        chosen = (log2(float(run.result.get("temperature", 1.0))),)
        lines.append(_series(run, points, chosen))
    if not lines:
        return []
    powers = sorted({x for line in lines for x, _ in line.points})
    names = {x: _power(x) for x in powers if x % 2 == 0}
    name = "criterion" if column is None else column.measure.label
    title = f"Validation {name} by temperature at test time"
    unit = "" if column is None else column.measure.unit
    return [figure(title, line_chart(lines, title, "temperature", x_names=names, unit=unit))]


def _history(
    runs: Sequence[ReportedRun],
    title: str,
    split: str,
    measure: Measure,
    *,
    zero: bool = False,
    fixed: Sequence[ReportedRun] = (),
) -> str:
    """A metric by epoch: a line per run, dashed for runs to compare with."""
    lines = []
    for run in runs:
        best = () if run.best_epoch is None else (float(run.best_epoch),)
        lines.append(_series(run, run.history(split, measure.name), best))
    lines += [_series(run, run.history(split, measure.name), dashed=True) for run in fixed]
    return figure(title, line_chart(lines, title, "epoch", zero=zero, unit=measure.unit))


def _series(
    run: ReportedRun,
    points: Sequence[tuple[float, float]],
    marked: tuple[float, ...] = (),
    *,
    dashed: bool = False,
) -> Series:
    note = f"seed {run.seed}"
    return Series(run.label, run.mark, points, marked, dashed, note)


def _known(runs: Sequence[ReportedRun], split: str, name: str) -> bool:
    return any(
        isinstance(record.get(split, {}).get(name), int | float)
        for run in runs
        for record in run.metrics
    )


def _power(exponent: float) -> str:
    digits = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    return "1" if exponent == 0 else "2" + f"{exponent:g}".translate(digits)
