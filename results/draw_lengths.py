"""Draws accuracy by length from the runs in `lengths/`: the picture of README.

    python results/draw_lengths.py docs/lengths.svg

A line for each estimator or reader, the mean over its seeds, and a band from the worst seed to the
best; the lengths of training are shaded.
"""

import sys
from pathlib import Path
from statistics import mean
from typing import Any

from sparsewood.lab.report._colours import css, mark_of
from sparsewood.lab.report.charts import Series, line_chart
from sparsewood.lab.run import Run

HERE = Path(__file__).parent
# The names in the picture.
LINES = {
    "given": "true trees",
    "sparsemap:max_active=5": "latent trees",
    "transformer": "transformer",
    "lstm": "LSTM",
    "left-to-right": "chain",
    "flat": "flat trees",
}
COLOURS = (("#1d2421", "#646e69", "#dcd9d0"), ("#e5e9e6", "#98a39d", "#39423e"))  # ink, quiet, rule


def main(file: Path) -> None:
    runs: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((HERE / "lengths").glob("*/*/*/result.json")):
        run = Run(path.parent)
        assert run.result is not None
        runs.setdefault(run.config.model.estimator, []).append(run.result["by_length"])
    series = [line(name, runs[name]) for name in LINES if name in runs]
    shaded = next(iter(runs.values()))[0]["training"]
    chart = line_chart(series, "Accuracy by length", "tokens", unit="%", log=True, shaded=shaded)
    chart = chart.replace("<svg ", '<svg width="560" height="316" ', 1)  # not the width of the page
    head, sep, rest = chart.partition(">")
    file.write_text(f"{head}{sep}<style>{style()}</style>{rest}\n", encoding="utf-8")


def line(name: str, found: list[dict[str, Any]]) -> Series:
    """The mean over seeds, and the worst and the best of them, in each bin of lengths."""
    bins = list(zip(*(by_length["bins"] for by_length in found), strict=True))
    xs = [mean(values["mean"] for values in seeds) for seeds in bins]
    ys = [[values["accuracy"] for values in seeds] for seeds in bins]
    points = [(x, mean(y)) for x, y in zip(xs, ys, strict=True)]
    band = [(x, min(y), max(y)) for x, y in zip(xs, ys, strict=True)]
    return Series(LINES[name], mark_of(name), points, note=f"{len(found)} seeds", band=band)


def style() -> str:
    """The colours of both themes, and what the page of a report says of charts."""

    def variables(theme: int) -> str:
        ink, quiet, rule = COLOURS[theme]
        return f"svg{{--ink:{ink};--quiet:{quiet};--rule:{rule}}}"

    return (
        f"{css()}{variables(0)}@media(prefers-color-scheme:dark){{{variables(1)}}}"
        "text{fill:var(--quiet)}text.name{fill:var(--ink);font-weight:600}"
        ".rule,.axis{stroke:var(--rule);fill:none}.axis{stroke:var(--quiet)}"
        ".line{stroke:var(--series);stroke-width:1.7;fill:none;stroke-linejoin:round}"
        ".point,.best{fill:var(--series)}.band{fill:var(--series);opacity:.16}"
        ".ground{fill:var(--rule);opacity:.55}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
