"""The finding of runs on the same data: a sentence for newcomers, and the numbers behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sparsewood.lab.report._lengths import LengthBin, beyond_training
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
from sparsewood.lab.study.finding import caveat
from sparsewood.lab.study.paired import Comparison, compare_runs
from sparsewood.lab.study.paper_figures import BASELINE
from sparsewood.lab.study.rows import short
from sparsewood.lab.tasks.measures import SUPPORT, Measure
from sparsewood.lab.tasks.targets.classes import ACCURACY
from sparsewood.lab.tasks.task import PLUS

Group = Sequence[ReportedRun]  # runs of one estimator, one per seed

_FIXED = ("flat", "left-to-right", "given")  # estimators whose trees are fixed


@dataclass(frozen=True)
class Finding:
    """What a report says first.

    Attributes:
        said: what came out, in one or two sentences.
        caveat: what limits this claim: one seed, or training that was cut short. Empty if nothing.
        numbers: the exact values, the interval of the difference, and what it covers.
    """

    said: str
    caveat: str = ""
    numbers: str = ""


_NOTHING = Finding("No results yet: no run has completed an epoch.")


def finding_of(runs: Sequence[ReportedRun]) -> Finding:
    """The best estimator with learned trees beside the baseline.

    With one seed, the interval covers only the sampling of test items, not other training runs.
    With several estimators, the best one with learned trees is compared with flat trees of the
    same model, or else with plain flat trees, or with the best of the others, by the validation
    criterion on the first test. For a
    single estimator the finding is its result.
    """
    column = _column(runs)
    if column is None:
        return _NOTHING
    rows = by_estimator(run for run in runs if column.of(run) is not None)
    groups = list(rows.values())
    if len(groups) < 2:
        return _alone(groups[0], column) if groups else _NOTHING
    ours = _leader([group for group in groups if group[0].latent] or groups, column)
    theirs = _baseline(rows, ours)
    if theirs is ours:
        theirs = _leader([group for group in groups if group is not ours], column)
    few = min(len(ours), len(theirs))
    best = best_of([group for group in groups if len(group) >= few], column)
    found = _compared(ours, theirs, column)
    numbers = _numbers(ours, theirs, column, found)
    if _mean(best, column) not in (_mean(ours, column), _mean(theirs, column)):
        numbers += f" Best of all: {best[0].label}, {_value(best, column)}."
    said = " ".join(filter(None, [_said(ours, theirs, column, found), _longer(ours, theirs)]))
    return Finding(said, caveat({group[0].label: group for group in (ours, theirs)}), numbers)


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


def _baseline(rows: Mapping[str, Group], ours: Group) -> Group:
    """The row of flat trees that has the other options of `ours`, or else none."""
    _, plus, others = ours[0].estimator.partition(PLUS)
    return rows.get(BASELINE + plus + others) or rows.get(BASELINE, ours)


def _leader(groups: Sequence[Group], column: Column) -> Group:
    """The best of the groups with the most seeds, so that a single lucky seed does not lead."""
    most = max(len(group) for group in groups)
    return best_of([group for group in groups if len(group) == most], column)


def _alone(group: Group, column: Column) -> Finding:
    label, mean = group[0].label, _plain(column.measure, _mean(group, column))
    kept = summary(Column("validation", SUPPORT).of(run) for run in group)
    trees = f" It keeps {kept[0]:.1f} trees per sentence." if kept and group[0].latent else ""
    said = f"{_who(group)} {_does(column)} {mean}{_of(column)}."
    if all(run.result is None for run in group):
        return Finding(f"{label} is in training: {column.measure.label} {mean} so far.")
    seeds = f" ({len(group)} seeds)" * (len(group) > 1)
    numbers = f"{_titled(column.measure)} {_value(group, column)} on {column.split}{seeds}.{trees}"
    return Finding(said, caveat({label: group}), numbers)


def _said(ours: Group, theirs: Group, column: Column, found: Comparison | None) -> str:
    """Both results in words."""
    values = [_mean(group, column) for group in (ours, theirs)]
    a, b = (_plain(column.measure, value) for value in values)
    text = f"{_who(ours)} {_does(column)} {a}{_of(column)}; {_who(theirs)} {b}"
    if found is not None and values[0] != values[1] and found.low <= 0 <= found.high:
        return f"{text}: not a significant difference."
    return f"{text}: no difference." if a == b else f"{text}."


def _longer(ours: Group, theirs: Group) -> str:
    """Both results on the longest inputs, if none was as long in training; empty otherwise."""
    found = beyond_training(ours, theirs)
    if found is None:
        return ""
    unit, trained, (a, b) = found
    at = _span(a)
    x, y = (_plain(ACCURACY, float(values["accuracy"])) for values in (a, b))
    return f"On inputs of {at} {unit}, where training had at most {trained}: {x} against {y}."


def _span(values: LengthBin) -> str:
    return f"{values['from']} to {values['to']}"


def _who(group: Group) -> str:
    """The estimator, and where its trees come from."""
    name = short(group[0].estimator).partition(PLUS)[0]
    if group[0].latent:
        return f"{group[0].label}, which learns its trees,"
    return f"{group[0].label}, whose trees are fixed," if name in _FIXED else group[0].label


def _does(column: Column) -> str:
    return "answers" if column.measure == ACCURACY else f"has {column.measure.label}"


def _of(column: Column) -> str:
    measure = column.measure
    examples = f"the {column.split} examples"
    if measure == ACCURACY:
        return f" of {examples} correctly"
    return f" on {examples}" + " (lower is better)" * (not measure.higher_is_better)


def _plain(measure: Measure, value: float) -> str:
    """A value for the eye: a percentage with one digit."""
    return f"{value:.1f} %" if measure.unit == "%" else measure.text(value)


def _titled(measure: Measure) -> str:
    return measure.label[:1].upper() + measure.label[1:]


def _numbers(ours: Group, theirs: Group, column: Column, found: Comparison | None) -> str:
    """The exact values and their difference."""
    measure = column.measure
    values = f"{_titled(measure)} on {column.split}: {_value(ours, column)}"
    values += f" against {_value(theirs, column)}"
    if found is None:
        counts = sorted({len(ours), len(theirs)})
        seeds = " and ".join(map(str, counts)) + " seeds" if counts != [1] else "one seed"
        kept = "the difference was not tested, as no answers to the same items were saved"
        return f"{values} ({seeds}); {kept}."
    return f"{values}, difference {found.text(measure)} ({_tested(found, ours, theirs)})."


def _tested(found: Comparison, ours: Group, theirs: Group) -> str:
    """What the interval of a difference covers, with p if it covers seeds."""
    if found.seeds == 1:
        return "95 % interval over test items alone"
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
