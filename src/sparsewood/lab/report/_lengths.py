"""Charts of metrics by length, for runs on the same data."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

from sparsewood.lab.report._results import criterion
from sparsewood.lab.report._runs import ReportedRun, by_estimator
from sparsewood.lab.report.charts import Series, figure, line_chart
from sparsewood.lab.run.by_length import bin_name
from sparsewood.lab.tasks.measures import ATTACHMENT, WITHOUT_BRACKETS, Measure
from sparsewood.lab.tasks.targets.classes import ACCURACY

_WIDE = 5.0  # ratio of lengths from which on their axis is logarithmic

LengthBin = Mapping[str, Any]  # as `ByLength.to_json` has it


def length_curves(runs: Sequence[ReportedRun]) -> list[str]:
    """The criterion on the tests by length, and the attachment of the likeliest trees.

    Each estimator has a line, the mean over its seeds, and a band from the worst seed to the best.
    There are no charts for a single bin.
    """
    told = [found for run in runs if (found := _bins(run))]
    judged = criterion(runs)
    if judged is None or max(map(len, told), default=0) < 2:
        return []
    measures = [judged.measure]
    attached = next((m for m in (WITHOUT_BRACKETS, ATTACHMENT) if _varies(told, m)), None)
    if attached is not None and attached != judged.measure:
        measures.append(attached)
    return [_chart(runs, measure) for measure in measures if _known(told, measure)]


def beyond_training(
    *groups: Sequence[ReportedRun],
) -> tuple[str, int, list[LengthBin]] | None:
    """The accuracy of each group, the mean over its seeds, in the bin of the longest inputs.

    Returns:
        The unit of length, the greatest length in training, and the values of each group's bin;
        None if a group has no accuracy there, or if training had inputs as long.
    """
    trained = _trained(run for group in groups for run in group)
    told = []
    for group in groups:
        ends = [found[-1] for run in group if (found := _bins(run))]
        if len(ends) < len(group) or any(ACCURACY.name not in values for values in ends):
            return None
        told.append({**ends[0], ACCURACY.name: mean(values[ACCURACY.name] for values in ends)})
    alike = len({bin_name(values) for values in told}) == 1
    if trained is None or not alike or told[0]["from"] <= trained[1]:
        return None
    return _unit([run for group in groups for run in group]), int(trained[1]), told


def _unit(runs: Sequence[ReportedRun]) -> str:
    return next(run.result["by_length"]["unit"] for run in runs if run.result and _bins(run))


def _chart(runs: Sequence[ReportedRun], measure: Measure) -> str:
    unit, lines = _unit(runs), []
    for group in by_estimator(runs).values():
        line = _series(group, measure)
        # The given trees have an attachment of 100 % by definition.
        attached = measure in (ATTACHMENT, WITHOUT_BRACKETS)
        if line.points and (not attached or group[0].latent or _below(line, 100)):
            lines.append(line)
    xs = [x for line in lines for x, _ in line.points]
    title = f"{measure.title or measure.label[:1].upper() + measure.label[1:]}, by number of {unit}"
    log = min(xs) > 0 and max(xs) / min(xs) >= _WIDE
    trained = _trained(runs)
    if trained is not None and log:
        trained = max(1, trained[0]), trained[1]
    chart = line_chart(lines, title, unit, unit=measure.unit, log=log, shaded=trained)
    return figure(title, chart)


def _series(group: Sequence[ReportedRun], measure: Measure) -> Series:
    """The mean over the seeds, and from the least to the greatest where there are several."""
    found: dict[str, list[LengthBin]] = {}
    for run in group:
        for values in _bins(run):
            if isinstance(values.get(measure.name), int | float):
                found.setdefault(bin_name(values), []).append(values)
    bins = sorted(found.values(), key=lambda values: values[0]["mean"])
    points = [(mean(v["mean"] for v in b), mean(v[measure.name] for v in b)) for b in bins]
    ends = [[v[measure.name] for v in b] for b in bins]
    band = [(x, min(ys), max(ys)) for (x, _), ys in zip(points, ends, strict=True)]
    seeds = len(group)
    note = f"{seeds} seeds" if seeds > 1 else f"seed {group[0].seed}"
    return Series(group[0].label, group[0].mark, points, note=note, band=band if seeds > 1 else ())


def _bins(run: ReportedRun) -> Sequence[LengthBin]:
    """Those of the tests; none of a run that is unfinished, or of an earlier version."""
    return ((run.result or {}).get("by_length") or {}).get("bins", [])


def _trained(runs: Iterable[ReportedRun]) -> tuple[float, float] | None:
    """From which to which length all runs were trained."""
    told = [run.result["by_length"]["training"] for run in runs if run.result and _bins(run)]
    return None if None in told or not told else (min(t[0] for t in told), max(t[1] for t in told))


def _known(told: Iterable[Sequence[LengthBin]], measure: Measure) -> bool:
    return any(measure.name in values for bins in told for values in bins)


def _varies(told: Iterable[Sequence[LengthBin]], measure: Measure) -> bool:
    """Whether some trees are not the given ones."""
    return any(values.get(measure.name, 100) < 100 for bins in told for values in bins)


def _below(line: Series, value: float) -> bool:
    return any(y < value for _, y in line.points)
