"""Metrics as tables for the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

METRICS = {  # heading, form
    "loss": ("loss", "{:.4f}"),
    "accuracy": ("accuracy", "{:.2f}"),
    "median_rank": ("median\nrank", "{:.1f}"),
    "accuracy_10": ("acc@10", "{:.1f}"),
    "accuracy_100": ("acc@100", "{:.1f}"),
    "support": ("trees\nkept", "{:.2f}"),
    "single": ("one\ntree %", "{:.1f}"),
    "flat": ("flat\ntree %", "{:.1f}"),
    "agreement": ("given\narcs %", "{:.1f}"),
    "attachment": ("attach-\nment %", "{:.1f}"),
}


def results_table(result: Mapping[str, Any]) -> Table:
    """The result of a run: a row for each split."""
    title = f"best epoch {result['best_epoch']} of {result['epochs']}"
    if result["temperature_curve"]:
        title += f", temperature {result['temperature']:g}"
    return splits_table({"validation": result["validation"], **result["tests"]}, title)


def splits_table(splits: Mapping[str, Mapping[str, Any]], title: str | None = None) -> Table:
    """A row for each split, a column for each metric."""
    names = [name for name in METRICS if any(name in values for values in splits.values())]
    table = Table("split", title=title, title_justify="left", box=SIMPLE_HEAD)
    for name in names:
        table.add_column(METRICS[name][0], justify="right")
    for split, values in splits.items():
        cells = [METRICS[n][1].format(values[n]) if n in values else "" for n in names]
        table.add_row(split, *cells)
    return table
