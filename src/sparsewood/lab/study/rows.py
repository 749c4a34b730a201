"""Estimators and readers as rows of tables and reports."""

from collections.abc import Iterable
from pathlib import Path

from sparsewood.lab.tasks.readers import earlier_name, from_name, learns_trees
from sparsewood.lab.tasks.task import PLUS


def short(estimator: str) -> str:
    """The name without its options: "sparsemap" of "sparsemap:max_active=10".

    Other parts of the name of a row are kept: "sparsemap + softmax".
    """
    name, plus, others = estimator.partition(PLUS)
    return name.partition(":")[0] + plus + others


def setting(estimator: str) -> str:
    """The options of the name: "max_active=10" of "sparsemap:max_active=10"."""
    return estimator.partition(PLUS)[0].partition(":")[2]


def folder_name(estimator: str) -> str:
    """The name as a folder name that is valid on all systems."""
    return estimator.replace(":", "-")


def folder_of(estimator: str, root: Path) -> str:
    """The folder of the row in `root`; if it exists, the one made by an earlier version."""
    earlier = folder_name(earlier_name(estimator))
    found = (name for name in (earlier, earlier.replace("-", "_")) if (root / name).is_dir())
    return next(found, folder_name(estimator))


def learns(estimator: str) -> bool:
    """Whether a model learns its trees; False for unknown names."""
    try:
        return learns_trees(from_name(estimator.partition(PLUS)[0]))
    except ValueError:
        return False


def labels(estimators: Iterable[str]) -> dict[str, str]:
    """The label of each row of a table: its short name, or the full one if two rows share that.

    A row without a cap keeps its full name, since `sparsemap` has one.
    """
    rows = list(dict.fromkeys(estimators))
    names = [row if "max_active=none" in setting(row).split(",") else short(row) for row in rows]
    return {
        row: name if names.count(name) == 1 else row for row, name in zip(rows, names, strict=True)
    }
