"""What a comparison found, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparsewood.lab.tasks.build import MEASURES
from sparsewood.lab.train.paired import Comparison, compare_runs
from sparsewood.lab.train.rows import labels, learns
from sparsewood.lab.train.run import Run

_LISTED = 3  # estimators that are named; of more, the number is told


def finding(rows: Mapping[str, Sequence[Run]], summary: Mapping[str, Any]) -> str:
    """Which estimator answers best, which others are not told apart from it, and which is quickest.

    Of estimators through which something is learnt, where there are some. Two are told apart where
    the 95 % interval of their difference, seeds and test items drawn anew, leaves 0 out.

    Args:
        rows: the runs of each row, a seed each.
        summary: what `summarise` has of them.
    """
    told, names = summary["rows"], labels(rows)
    measure = MEASURES[summary["criterion"]]
    test = next(iter(next(iter(told.values()))["tests"]), None)

    def value(name: str) -> float:
        found = told[name]["validation"] if test is None else told[name]["tests"][test]
        return found[measure.name]["mean"]

    learning = [name for name in rows if learns(name)] or list(rows)
    ranked = sorted(learning, key=value, reverse=measure.higher_is_better)
    best, *others = ranked
    text = f"{names[best]} answers best on {test or 'validation'}: {measure.label} "
    if len(learning) < len(rows):
        text = f"Of the estimators that learn, {text}"
    text += _with_spread(measure.text(value(best)), told[best], test, measure.name)
    text += f" {over(len(rows[best]))}"
    if against := next(iter(told[best].get("against", {}).values()), None):
        baseline = names[summary["baseline"]]
        text += f", {Comparison(**against).text(measure)} against {baseline}"
    close = [name for name in others if _close(rows[best], rows[name])]
    if not others:
        return f"{text}."
    if not close:
        return f"{text}; ahead of {names[others[0]]} with {measure.text(value(others[0]))}."
    listed = [f"{names[name]} ({measure.text(value(name))})" for name in close]
    if len(listed) > _LISTED + 1:
        listed = [*listed[:_LISTED], f"{len(listed) - _LISTED} others"]
    alike = " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))
    quickest = min([best, *close], key=lambda name: told[name]["seconds_per_epoch"])
    return (
        f"{text}; {alike} {'is' if len(close) == 1 else 'are'} not told apart from it. Of these, "
        f"{names[quickest]} has the quickest epochs, {told[quickest]['seconds_per_epoch']:.1f} s."
    )


def over(seeds: int) -> str:
    """How many seeds a figure is of; of one, what that leaves open."""
    return "with one seed (nothing is said of others)" if seeds == 1 else f"over {seeds} seeds"


def _with_spread(text: str, row: Mapping[str, Any], test: str | None, name: str) -> str:
    found = row["validation"] if test is None else row["tests"][test]
    std = found[name]["std"]
    return text if std is None else f"{text} ± {MEASURES[name].text(std)}"


def _close(ours: Sequence[Run], theirs: Sequence[Run]) -> bool:
    """Whether chance may have told the two apart; so it may where outcomes are unknown."""
    found = next(iter(compare_runs(ours, theirs).values()), None)
    return found is None or found.low <= 0 <= found.high
