"""The finding of a comparison, in words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sparsewood._internal.numbers import counted
from sparsewood.lab.run.config import TrainingConfig
from sparsewood.lab.run.folder import Run
from sparsewood.lab.study.paired import Comparison, compare_runs
from sparsewood.lab.study.rows import labels, learns
from sparsewood.lab.tasks.build import MEASURES

_LISTED = 3  # maximum number of estimators to name; otherwise their number


def finding(rows: Mapping[str, Sequence[Run]], summary: Mapping[str, Any]) -> str:
    """The best estimator, those not significantly different from it, and the fastest of these.

    Only estimators with learned trees are considered, if there are any. Two differ significantly if
    the 95 % interval of their difference, by bootstrap over seeds and test items, excludes 0. What
    limits the claim comes first; see `caveat`.

    Args:
        rows: the runs of each row, one per seed.
        summary: the result of `summarise` for them.
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
    text = f"{names[best]} is best on {test or 'validation'}: {measure.label} "
    if len(learning) < len(rows):
        text = f"Among the estimators with learned trees, {text}"
    text += _with_spread(measure.text(value(best)), told[best], test, measure.name)
    if len(rows[best]) > 1:
        text += f" ({len(rows[best])} seeds)"
    if against := next(iter(told[best].get("against", {}).values()), None):
        baseline = names[summary["baseline"]]
        text += f", {Comparison(**against).text(measure)} against {baseline}"
    close = [name for name in others if _close(rows[best], rows[name])]
    first = caveat({names[name]: runs for name, runs in rows.items()})
    text = f"{first} {text}" if first else text
    if not others:
        return f"{text}."
    if not close:
        return f"{text}; ahead of {names[others[0]]} with {measure.text(value(others[0]))}."
    listed = [f"{names[name]} ({measure.text(value(name))})" for name in close]
    if len(listed) > _LISTED + 1:
        listed = [*listed[:_LISTED], f"{len(listed) - _LISTED} others"]
    alike = _listed(listed)
    quickest = min([best, *close], key=lambda name: told[name]["seconds_per_epoch"])
    seconds = f"{told[quickest]['seconds_per_epoch']:.1f} s"
    return (
        f"{text}; {alike} {'is' if len(close) == 1 else 'are'} not significantly different. "
        f"Of these, {names[quickest]} has the fastest epochs, {seconds}."
    )


def caveat(groups: Mapping[str, Sequence[Run]]) -> str:
    """What limits every claim about these runs, in sentences; empty if nothing does.

    That is a single seed, and training that ended while there was still progress: the last epoch,
    at the limit, was the best one on validation.

    Args:
        groups: runs by name, one per seed.
    """
    single = [name for name, runs in groups.items() if len(runs) == 1]
    said = []
    if len(single) == len(groups):
        said.append("One seed; variation between seeds not assessed.")
    elif single:
        said.append(f"One seed of {_listed(single)}; variation between its seeds not assessed.")
    return " ".join(filter(None, [*said, _cut_short(groups)]))


def _cut_short(groups: Mapping[str, Iterable[Run]]) -> str:
    default = TrainingConfig().max_epochs
    named: dict[str, None] = {}
    limits: set[int] = set()
    for name, runs in groups.items():
        for run in runs:
            most = run.raw_config.get("training", {}).get("max_epochs", default)
            result = run.result or {}
            if most == result.get("epochs") == result.get("best_epoch"):
                named[name] = None
                limits.add(most)
    if not named:
        return ""
    epochs = " or ".join(counted(limit, "epoch") for limit in sorted(limits))
    verb = "was" if len(named) == 1 else "were"
    return (
        f"After {epochs}, the limit, {_listed(list(named))} {verb} still improving on validation."
    )


def _listed(names: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _with_spread(text: str, row: Mapping[str, Any], test: str | None, name: str) -> str:
    found = row["validation"] if test is None else row["tests"][test]
    std = found[name]["std"]
    return text if std is None else f"{text} ± {MEASURES[name].text(std)}"


def _close(ours: Sequence[Run], theirs: Sequence[Run]) -> bool:
    """Whether the two are not significantly different, or their outcomes are unknown."""
    found = next(iter(compare_runs(ours, theirs).values()), None)
    return found is None or found.low <= 0 <= found.high
