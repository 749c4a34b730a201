"""The charts of runs on the same data."""

from collections.abc import Mapping, Sequence
from math import log2

from sparsewood.draw._markup import element, escaped
from sparsewood.lab.report._axes import short as axis
from sparsewood.lab.report._axes import ticks
from sparsewood.lab.report._results import criterion, summary
from sparsewood.lab.report._runs import ReportedRun, by_estimator
from sparsewood.lab.report.charts import Series, bar_chart, heat_map, line_chart
from sparsewood.lab.study.paper_figures import BASELINE
from sparsewood.lab.tasks.build import MEASURES
from sparsewood.lab.tasks.measures import (
    AGREEMENT,
    ATTACHMENT,
    LOSS,
    TREES,
    WITHOUT_BRACKETS,
    Measure,
)

# Support sizes that are counted together: the first and the last of each.
_BINS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 8), (9, 16), (17, 32), (33, None))


def learning_curves(runs: Sequence[ReportedRun]) -> list[str]:
    """The loss in training, and what lines of progress tell of validation, by epoch."""
    told = [m for m in MEASURES.values() if m.brief and m not in TREES]
    charts = [("Training", "train", LOSS), *(("Validation", "validation", m) for m in told)]
    figures = [
        _history(runs, f"{name} {measure.label}", split, measure)
        for name, split, measure in charts
        if _known(runs, split, measure.name)
    ]
    return figures + _by_second(runs) * (len(by_estimator(runs)) > 1)


def _by_second(runs: Sequence[ReportedRun]) -> list[str]:
    """The criterion on validation by seconds of training."""
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
    return [_figure(title, line_chart(lines, title, "seconds", x_names=names, unit=unit))]


def tree_curves(runs: Sequence[ReportedRun]) -> list[str]:
    """What the posteriors of latent runs look like by epoch; empty without such runs."""
    latent = [run for run in runs if run.latent]
    if not latent:
        return []
    # Fixed trees never change: one run of each estimator tells all. The given ones are at 100 %.
    rows = by_estimator(run for run in runs if not run.latent)
    arcs = {row: group[0].history("validation", ATTACHMENT.name) for row, group in rows.items()}
    fixed = [rows[row][0] for row, found in arcs.items() if any(y < 100 for _, y in found)]
    figures = []
    alone = len(by_estimator(latent)) == 1  # sentences are not lumped across estimators
    if alone and _known(latent, "validation", "histogram", kind=Mapping):
        figures.append(_support_map(latent))
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
    return [_figure(title, line_chart(lines, title, "temperature", x_names=names, unit=unit))]


def speed_bars(runs: Sequence[ReportedRun]) -> list[str]:
    """Sentences per second in training, and the time of an epoch against flat trees."""
    speeds, seconds = {}, {}
    rows = by_estimator(runs)
    for row, group in rows.items():
        speed = summary(run.mean("sentences_per_second") for run in group)
        second = summary(run.mean("seconds") for run in group)
        if speed:
            speeds[row] = speed[0]
        if second:
            seconds[row] = second[0]
    figures = []
    if speeds:
        title = "Sentences per second in training"
        bars = [(rows[r][0].label, rows[r][0].style, v, f"{v:,.0f}") for r, v in speeds.items()]
        figures.append(_figure(title, bar_chart(bars, title)))
    if seconds.get(BASELINE) and len(seconds) > 1:
        title = f"Time per epoch, {BASELINE} = 1"
        ratios = {row: value / seconds[BASELINE] for row, value in seconds.items()}
        bars = [(rows[r][0].label, rows[r][0].style, v, f"{v:.2f}") for r, v in ratios.items()]
        figures.append(_figure(title, bar_chart(bars, title)))
    return figures


def _history(
    runs: Sequence[ReportedRun],
    title: str,
    split: str,
    measure: Measure,
    *,
    zero: bool = False,
    fixed: Sequence[ReportedRun] = (),
) -> str:
    """A metric by epoch: lines of the runs, and broken ones of those that are to compare with."""
    lines = []
    for run in runs:
        best = () if run.best_epoch is None else (float(run.best_epoch),)
        lines.append(_series(run, run.history(split, measure.name), best))
    lines += [_series(run, run.history(split, measure.name), dashed=True) for run in fixed]
    return _figure(title, line_chart(lines, title, "epoch", zero=zero, unit=measure.unit))


def _series(
    run: ReportedRun,
    points: Sequence[tuple[float, float]],
    marked: tuple[float, ...] = (),
    *,
    dashed: bool = False,
) -> Series:
    note = f"seed {run.seed}"
    return Series(run.label, run.style, points, marked, dashed, note)


def _support_map(runs: Sequence[ReportedRun]) -> str:
    """How many trees sentences keep by epoch, all seeds together."""
    columns: dict[int, dict[str, float]] = {}
    for run in runs:
        for record in run.metrics:
            column = columns.setdefault(int(record["epoch"]), {})
            for size, count in record.get("validation", {}).get("histogram", {}).items():
                name = _bin(int(size))
                column[name] = column.get(name, 0.0) + count
    shares = {
        epoch: {name: count / sum(column.values()) for name, count in column.items()}
        for epoch, column in sorted(columns.items())
        if column
    }
    names = [_bin(first) for first, _ in _BINS]
    while len(names) > 3 and not any(names[-1] in column for column in shares.values()):
        names.pop()
    title = "Trees kept for a sentence, share of sentences"
    return _figure(title, heat_map(shares, names, title, "epoch"))


def _bin(size: int) -> str:
    first, last = next((a, b) for a, b in _BINS if b is None or size <= b)
    return str(first) if first == last else f"{first}+" if last is None else f"{first}–{last}"


def _known(
    runs: Sequence[ReportedRun], split: str, name: str, kind: type | tuple[type, ...] = (int, float)
) -> bool:
    return any(
        isinstance(record.get(split, {}).get(name), kind) for run in runs for record in run.metrics
    )


def _power(exponent: float) -> str:
    digits = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    return "1" if exponent == 0 else "2" + f"{exponent:g}".translate(digits)


def _figure(title: str, chart: str) -> str:
    return element("figure", element("figcaption", escaped(title)) + chart)
