"""The finding of runs on the same data, in a sentence."""

from collections.abc import Sequence

from sparsewood.lab.report._results import (
    Column,
    best_of,
    columns_of,
    criterion,
    headline,
    split_results,
    summary,
)
from sparsewood.lab.report._runs import ReportedRun, by_estimator
from sparsewood.lab.study.finding import cut_short, over
from sparsewood.lab.study.paired import Comparison, compare_runs
from sparsewood.lab.study.paper_figures import BASELINE
from sparsewood.lab.tasks.measures import SUPPORT

Group = Sequence[ReportedRun]  # runs of one estimator, one per seed

_NOTHING = "No results yet: no run has completed an epoch."


def finding_of(runs: Sequence[ReportedRun]) -> str:
    """The best estimator, its difference to the baseline, and what the interval covers.

    With one seed, the interval covers only the sampling of test items, not other training runs.
    With several estimators, the best one with learned trees is compared with flat trees, or
    otherwise with the best of the others, by the validation criterion on the first test. For a
    single estimator the sentence gives its result.
    """
    column = _column(runs)
    if column is None:
        return _NOTHING
    rows = by_estimator(run for run in runs if column.of(run) is not None)
    groups = list(rows.values())
    if len(groups) < 2:
        return _alone(groups[0], column) if groups else _NOTHING
    ours = _leader([group for group in groups if group[0].latent] or groups, column)
    theirs = rows.get(BASELINE, ours)
    if theirs is ours:
        theirs = _leader([group for group in groups if group is not ours], column)
    few = min(len(ours), len(theirs))
    best = best_of([group for group in groups if len(group) >= few], column)
    text = _against(ours, theirs, column)
    ended = cut_short({group[0].label: group for group in (ours, theirs)})
    if _mean(best, column) in (_mean(ours, column), _mean(theirs, column)):
        return text + ended
    return f"{text} Best of all: {best[0].label}, {_value(best, column)}.{ended}"


def _column(runs: Sequence[ReportedRun]) -> Column | None:
    """The criterion on the first test or on validation; another measure if it is missing."""
    judged = criterion(runs)
    if judged is not None:
        splits = dict.fromkeys(split for run in runs for split in split_results(run))
        tests = [split for split in splits if split != judged.split] or splits
        for column in (Column(split, judged.measure) for split in tests):
            if any(column.of(run) is not None for run in runs):
                return column
    return headline(columns_of(runs))


def _leader(groups: Sequence[Group], column: Column) -> Group:
    """The best of the groups with the most seeds, so that a single lucky seed does not lead."""
    most = max(len(group) for group in groups)
    return best_of([group for group in groups if len(group) == most], column)


def _alone(group: Group, column: Column) -> str:
    value = f"{column.measure.label} {_value(group, column)}"
    if all(run.result is None for run in group):
        return f"{group[0].label} is in training: {value} on {column.split} so far."
    kept = summary(Column("validation", SUPPORT).of(run) for run in group)
    trees = f"; it keeps {kept[0]:.1f} trees per sentence" if kept and group[0].latent else ""
    ended = cut_short({group[0].label: group})
    return f"{group[0].label} has {value} on {column.split} ({over(len(group))}){trees}.{ended}"


def _against(ours: Group, theirs: Group, column: Column) -> str:
    """The sentence about two estimators."""
    measure = column.measure
    values = f"{measure.label} {_value(ours, column)} against {_value(theirs, column)}"
    found = _compared(ours, theirs, column)
    gain = _mean(ours, column) - _mean(theirs, column) if found is None else found.difference
    place = "ahead of" if (gain > 0) == measure.higher_is_better else "behind"
    said = (
        f"{ours[0].label} is {place if gain else 'level with'} {theirs[0].label} on {column.split}"
    )
    if found is None:
        counts = sorted({len(ours), len(theirs)})
        seeds = over(counts[0]) if len(counts) == 1 else f"{counts[0]} and {counts[1]} seeds"
        kept = "the difference was not tested, as no answers to the same items were saved"
        return f"{said}: {values} ({seeds}); {kept}."
    if gain and found.low <= 0 <= found.high:
        said += ", not significantly"
    return f"{said}: {values}, difference {found.text(measure)} ({_tested(found, ours, theirs)})."


def _tested(found: Comparison, ours: Group, theirs: Group) -> str:
    """What the interval of a difference covers, with p if it covers seeds."""
    if found.seeds == 1:
        return f"95 % interval over test items alone; {over(1)}"
    p = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.2g}"
    shared = " that both have" * (found.seeds < max(len(ours), len(theirs)))
    return f"95 % interval over the {found.seeds} seeds{shared} and test items, {p}"


def _compared(ours: Group, theirs: Group, column: Column) -> Comparison | None:
    """The paired comparison on the column; None if the runs have no outcomes to pair."""
    judged = criterion(ours)
    if judged is None or judged.measure != column.measure:
        return None
    return compare_runs(ours, theirs).get(column.split)


def _mean(group: Group, column: Column) -> float:
    found = summary(column.of(run) for run in group)
    assert found is not None  # runs without a value are left out
    return found[0]


def _value(group: Group, column: Column) -> str:
    found = summary(column.of(run) for run in group)
    assert found is not None
    mean, spread = found
    text = column.measure.text(mean)
    return text if spread is None else f"{text} ± {column.measure.text(spread)}"
