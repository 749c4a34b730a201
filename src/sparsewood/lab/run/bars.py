"""The display of a run on a terminal: a progress bar and a table of its epochs."""

import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column

from sparsewood.lab.run.epoch_table import BEST, EpochTable
from sparsewood.lab.run.progress import Lines, Progress, Told, Values, clock, named, parts

_REFRESH = 0.2  # seconds between two updates of the bar
_BAR = 20  # characters; half as many on a narrow terminal
_NARROW = 80


class Bars(Told):
    """A bar over the steps of the epoch, and a table with one line per completed epoch."""

    def __init__(self, console: Console | None = None, *, single: bool = False) -> None:
        super().__init__(single=single)
        console = console or Console(stderr=True)
        self._width = console.width
        self._bar_width = _BAR if self._width >= _NARROW else _BAR // 2
        one_line = Column(no_wrap=True)
        self._bar = Bar(
            TextColumn("{task.description}", table_column=one_line),
            BarColumn(bar_width=self._bar_width, table_column=one_line),
            MofNCompleteColumn(table_column=one_line),
            TextColumn("{task.fields[told]}", table_column=one_line),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=None, told="", visible=False)
        self._table: EpochTable | None = None
        self._epochs = ""  # text after the number of an epoch: the total
        self._shown = self._begun = 0.0
        self._place, self._done, self._steps = 0, 0, 1

    def note(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)

    def begin(self, folder: Path, done: int, epochs: int, seconds: float | None = None) -> None:
        super().begin(folder, done, epochs, seconds)
        self._table, self._epochs = None, f"/{epochs}" if seconds is None else ""

    def start_epoch(self, epoch: int, done: int, steps: int, stage: int | None = None) -> None:
        super().start_epoch(epoch, done, steps, stage)
        self._place = epoch - 1
        of = self._epochs if stage is None else ""
        self._start(f"epoch {named(epoch, stage)}{of}", done, steps)

    def step(self, step: int, values: Values) -> None:
        if not self._due():
            return
        left = self._left.told(self._place + step / self._steps) if self._left else ""
        self._show(step, f"run at most {left}" if left else "", *parts(values()))

    def start_work(self, name: str, batches: int) -> None:
        self._start(name, 0, batches)

    def work(self, batches: int) -> None:
        if self._due():
            self._show(batches)

    def end_epoch(self, record: dict[str, Any]) -> None:
        left = self._left.told(record["epoch"]) if self._left else ""
        if self._table is None:
            self._table = EpochTable(record, self._width)
            self._print(f"{BEST} the best epoch on validation so far", "dim")
            for line in self._table.head():
                self._print(line, "dim")
        self._print(self._table.row(record, left), "bold" if record["best"] else "")

    def close(self) -> None:
        self._bar.stop()

    def _print(self, line: str, style: str) -> None:
        self._bar.console.print(
            line, style=style, markup=False, highlight=False, no_wrap=True, overflow="ellipsis"
        )

    def _start(self, name: str, done: int, steps: int) -> None:
        """Start a bar at `done` of its `steps`."""
        self._done, self._steps, self._begun = done, steps, time.monotonic()
        self._bar.start()
        self._bar.reset(
            self._task, description=name, total=steps, completed=done, visible=True, told=""
        )

    def _due(self) -> bool:
        """Whether it is time to update the bar."""
        now = time.monotonic()
        due = now - self._shown >= _REFRESH
        if due:
            self._shown = now
        return due

    def _show(self, step: int, *told: str) -> None:
        """Update the bar, with the time left and as many of the texts `told` as fit."""
        taken = time.monotonic() - self._begun
        ahead = taken / max(1, step - self._done) * (self._steps - step)
        rest = self._fitting([f"{clock(ahead)} left", *filter(None, told)])
        self._bar.update(self._task, completed=step, told=rest)

    def _fitting(self, told: Iterable[str]) -> str:
        """As many of the first parts as fit the line."""
        counts = 2 * len(str(self._steps)) + 1
        name = self._bar.tasks[self._task].description
        room = self._width - len(name) - self._bar_width - counts - 3  # spaces between columns
        line = ""
        for part in told:
            longer = f"{line}, {part}" if line else part
            if len(longer) > room:
                break
            line = longer
        return line


def automatic(*, single: bool = False) -> Progress:
    """Bars on a terminal, lines elsewhere; `single` if there is only one run."""
    return Bars(single=single) if sys.stderr.isatty() else Lines(single=single)
