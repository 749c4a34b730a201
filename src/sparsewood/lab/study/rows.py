"""Estimators, and readers beside them, as the rows of tables and reports."""

from collections.abc import Iterable
from pathlib import Path

from sparsewood.lab.tasks.readers import earlier_name, from_name, learns_trees
from sparsewood.lab.tasks.task import PLUS


def short(estimator: str) -> str:
    """The name without its options: "sparsemap" of "sparsemap:max_active=10".

    What else tells a row apart stays: "sparsemap + softmax".
    """
    name, plus, others = estimator.partition(PLUS)
    return name.partition(":")[0] + plus + others


def setting(estimator: str) -> str:
    """The options alone: "max_active=10" of "sparsemap:max_active=10"."""
    return estimator.partition(PLUS)[0].partition(":")[2]


def folder_name(estimator: str) -> str:
    """The name as that of a folder, on any system."""
    return estimator.replace(":", "-")


def folder_of(estimator: str, root: Path) -> str:
    """The folder of the row in `root`: the one that an earlier version made, if it is there."""
    earlier = folder_name(earlier_name(estimator))
    found = (name for name in (earlier, earlier.replace("-", "_")) if (root / name).is_dir())
    return next(found, folder_name(estimator))


def learns(estimator: str) -> bool:
    """Whether its trees depend on what a model learns; False for one that is not known here."""
    try:
        return learns_trees(from_name(estimator.partition(PLUS)[0]))
    except ValueError:
        return False


def labels(estimators: Iterable[str]) -> dict[str, str]:
    """What each is called in one table: its short name, or all of it where two share that.

    A row without a cap keeps that in its name, since `sparsemap` alone has one.
    """
    rows = list(dict.fromkeys(estimators))
    names = [row if "max_active=none" in setting(row).split(",") else short(row) for row in rows]
    return {
        row: name if names.count(name) == 1 else row for row, name in zip(rows, names, strict=True)
    }
