"""What a terminal shows: a bar that is there at any width, and a line for each epoch."""

import io
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sparsewood.lab.run.bars import Bars, automatic
from sparsewood.lab.run.epoch_table import EpochTable
from sparsewood.lab.run.progress import Lines, Values
from sparsewood.lab.tasks.metrics import Accuracy, TreeStatistics
from tests.records import RECORD

SEEN = Values([Accuracy(4, 2.0, Counter({(1, 1): 3, (1, 0): 1})), TreeStatistics()], 4, 2.0)


class Terminal:
    """Bars on a terminal of some width, at a time that is set by hand."""

    def __init__(self, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("sparsewood.lab.run.bars.time.monotonic", lambda: self.now)
        self.file = io.StringIO()
        console = Console(file=self.file, force_terminal=True, width=width)
        self.bars = Bars(console, single=True)

    def lines(self) -> list[str]:
        """All lines that were ever shown, without what moves the cursor and colours."""
        self.bars._bar.refresh()
        return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "\n", self.file.getvalue()).split("\n")

    def bar(self) -> str:
        """The bar as it is now."""
        self.file.truncate(self.file.seek(0))
        self.bars._bar.refresh()
        text = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", self.file.getvalue())
        return text.strip()


@pytest.fixture
def terminal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(request.param, monkeypatch)


def half_an_epoch(terminal: Terminal) -> None:
    """The fifth of ten steps of the third epoch of twelve, after thirty seconds."""
    terminal.bars.begin(Path("runs/a"), 2, 12)
    terminal.bars.start_epoch(3, 0, 10)
    terminal.now += 30.0
    terminal.bars.step(5, SEEN)


@pytest.mark.parametrize("terminal", [40, 60, 80, 100, 140], indirect=True)
def test_there_is_a_bar_at_any_width(terminal: Terminal) -> None:
    half_an_epoch(terminal)
    bar = terminal.bar()
    width = terminal.bars._width
    assert bar.startswith("epoch 3/12 ")
    assert bar.count("━") + bar.count("╸") + bar.count("╺") == (20 if width >= 80 else 10)
    assert "5/10 0:30 left" in bar
    assert len(bar) <= width
    assert "\n" not in bar
    terminal.bars.close()


@pytest.mark.parametrize("terminal", [140], indirect=True)
def test_a_wide_terminal_is_told_more(terminal: Terminal) -> None:
    half_an_epoch(terminal)
    assert terminal.bar().endswith(
        "5/10 0:30 left, run at most 9:30, loss 0.5000, accuracy 75.00, 2 sentences/s"
    )
    terminal.bars.close()


@pytest.mark.parametrize("terminal", [80], indirect=True)
def test_an_epoch_is_one_line_below_a_heading(terminal: Terminal) -> None:
    half_an_epoch(terminal)
    for _ in range(2):
        terminal.bars.end_epoch(RECORD)
    terminal.bars.note("[red] is no markup here")
    terminal.bars.close()
    lines = terminal.lines()
    row = EpochTable(RECORD, 80).row(RECORD, "4:30")
    assert lines.count(row) == 2
    assert lines.count("* the best epoch on validation so far") == 1
    assert len([line for line in lines if line.startswith("epoch    loss")]) == 1
    assert "[red] is no markup here" in lines


@pytest.mark.parametrize("terminal", [80], indirect=True)
def test_other_work_has_a_bar_too(terminal: Terminal) -> None:
    terminal.bars.start_work("temperatures", 34)
    terminal.now += 17.0
    terminal.bars.work(17)
    bar = terminal.bar()
    assert bar.startswith("temperatures ")
    assert bar.endswith("17/34 0:17 left")
    terminal.bars.close()


@pytest.mark.parametrize("terminal", [100], indirect=True)
def test_stages_are_no_part_of_the_time_left(terminal: Terminal) -> None:
    bars = terminal.bars
    bars.begin(Path("runs/a"), 0, 4)
    bars.start_epoch(2, 0, 10, 5)
    terminal.now += 30.0
    bars.step(5, SEEN)
    bar = terminal.bar()
    assert bar.startswith("epoch 2, at most 5 words ")
    assert "run at most" not in bar
    bars.start_epoch(3, 0, 10)
    terminal.now += 30.0
    bars.end_epoch(RECORD)  # the first of four
    bars.close()
    assert any(line.endswith("1:30  *") for line in terminal.lines())


@pytest.mark.parametrize(("terminal", "kind"), [(True, Bars), (False, Lines)])
def test_bars_are_for_terminals(monkeypatch: pytest.MonkeyPatch, terminal: bool, kind: Any) -> None:
    file = io.StringIO()
    file.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stderr", file)
    assert type(automatic()) is kind
