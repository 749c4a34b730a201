"""Draws accuracy by length from the runs in `lengths/`: the picture of README.

    python results/draw_lengths.py docs/lengths.svg

A line for each estimator or reader, the mean over its seeds, and a band from the worst seed to the
best; the lengths of training are shaded.
"""

import sys
from pathlib import Path
from statistics import mean
from typing import Any

from sparsewood.lab.report.charts import Series, line_chart
from sparsewood.lab.run import Run

HERE = Path(__file__).parent
# The names in the picture, and the lines' colours on light and on dark pages.
LINES = {
    "given": ("true trees", "#0b7a58", "#4ecb9d"),
    "sparsemap:max_active=5": ("latent trees", "#b4531a", "#f0955a"),
    "transformer": ("transformer", "#5a48c8", "#a99cff"),
    "lstm": ("LSTM", "#1f6fb0", "#6fb5ee"),
    "left-to-right": ("chain", "#8c3f85", "#dd92d6"),
    "flat": ("flat trees", "#75661a", "#cdbb5c"),
}
COLOURS = (("#1d2421", "#646e69", "#dcd9d0"), ("#e5e9e6", "#98a39d", "#39423e"))  # ink, quiet, rule


def main(file: Path) -> None:
    runs: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((HERE / "lengths").glob("*/*/*/result.json")):
        run = Run(path.parent)
        assert run.result is not None
        runs.setdefault(run.config.model.estimator, []).append(run.result["by_length"])
    series = [line(name, runs[name], at) for at, name in enumerate(LINES) if name in runs]
    shaded = next(iter(runs.values()))[0]["training"]
    chart = line_chart(series, "Accuracy by length", "tokens", unit="%", log=True, shaded=shaded)
    chart = chart.replace("<svg ", '<svg width="560" height="316" ', 1)  # not the width of the page
    head, sep, rest = chart.partition(">")
    file.write_text(f"{head}{sep}<style>{style()}</style>{rest}\n", encoding="utf-8")


def line(name: str, found: list[dict[str, Any]], at: int) -> Series:
    """The mean over seeds, and the worst and the best of them, in each bin of lengths."""
    bins = list(zip(*(by_length["bins"] for by_length in found), strict=True))
    xs = [mean(values["mean"] for values in seeds) for seeds in bins]
    ys = [[values["accuracy"] for values in seeds] for seeds in bins]
    points = [(x, mean(y)) for x, y in zip(xs, ys, strict=True)]
    band = [(x, min(y), max(y)) for x, y in zip(xs, ys, strict=True)]
    return Series(LINES[name][0], f"s{at}", points, note=f"{len(found)} seeds", band=band)


def style() -> str:
    """The colours of both themes, and what the page of a report says of charts."""

    def variables(theme: int) -> str:
        ink, quiet, rule = COLOURS[theme]
        lines = "".join(
            f".s{at}{{--series:{colours[theme]}}}"
            for at, (_, *colours) in enumerate(LINES.values())
        )
        return f"svg{{--ink:{ink};--quiet:{quiet};--rule:{rule}}}{lines}"

    return (
        f"{variables(0)}@media(prefers-color-scheme:dark){{{variables(1)}}}"
        "text{fill:var(--quiet)}text.name{fill:var(--series);font-weight:600}"
        ".rule,.axis{stroke:var(--rule);fill:none}.axis{stroke:var(--quiet)}"
        ".line{stroke:var(--series);stroke-width:1.7;fill:none;stroke-linejoin:round}"
        ".point{fill:var(--series)}.band{fill:var(--series);opacity:.16}"
        ".ground{fill:var(--rule);opacity:.55}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
