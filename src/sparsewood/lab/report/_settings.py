"""Settings of runs: common entries first, then differences."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sparsewood.draw._markup import element, escaped
from sparsewood.lab.report._runs import ReportedRun


def settings(runs: Sequence[ReportedRun]) -> str:
    """Configuration and environment: common entries first, then differences."""
    return _compare("Configuration", runs, [_flat(run.raw_config) for run in runs]) + _compare(
        "Environment", runs, [_flat(run.environment) for run in runs]
    )


def _compare(
    title: str, runs: Sequence[ReportedRun], described: Sequence[Mapping[str, str]]
) -> str:
    names = list(dict.fromkeys(name for flat in described for name in flat))
    values = {name: [flat.get(name, "–") for flat in described] for name in names}
    shared = [name for name in names if len(set(values[name])) == 1]
    differing = [name for name in names if name not in shared]
    if not names:
        return element("p", f"{title} is not recorded.", class_="missing")
    tables = plain_table([[name, values[name][0]] for name in shared])
    if differing:
        rows = [
            [folder, *(values[name][i] for name in differing)]
            for i, folder in enumerate(folders_of(runs))
        ]
        tables += plain_table(rows, ["run", *differing])
    return element("details", element("summary", title) + tables)


def plain_table(rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> str:
    lines = [element("tr", "".join(element("th", escaped(name)) for name in head))] if head else []
    lines += [element("tr", "".join(element("td", escaped(cell)) for cell in row)) for row in rows]
    return element("div", element("table", "".join(lines), class_="plain"), class_="scroll")


def _flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested dictionaries as one, with names joined by dots."""
    flat: dict[str, str] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            words = isinstance(value, list)
            flat[f"{prefix}{key}"] = " ".join(map(str, value)) if words else str(value)
    return flat


def folders_of(runs: Sequence[ReportedRun]) -> list[str]:
    """The name of each run: its path below the common folder."""
    paths = [run.folder.absolute() for run in runs]
    parent = Path(os.path.commonpath([path.parent for path in paths]))
    return [path.relative_to(parent).as_posix() for path in paths]
