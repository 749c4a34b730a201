"""What is shown: lines, bars, and the words they use."""

import io
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sparsewood.lab.tasks.metrics import Accuracy, TreeStatistics
from sparsewood.lab.train.progress import Bars, Lines, Values, automatic, describe, finished

RECORD: dict[str, Any] = {
    "epoch": 3,
    "seconds": 12.34,
    "sentences_per_second": 561.2,
    "lr": 0.09,
    "best": True,
    "train": {"loss": 0.5, "accuracy": 80.0, "support": 2.5, "single": 40.0},
    "validation": {"loss": 0.4, "accuracy": 82.5, "support": 1.5, "histogram": {"1": 2}},
}


def test_the_line_of_an_epoch() -> None:
    assert describe(RECORD) == (
        "epoch 3: loss 0.5000, accuracy 80.00, trees 2.50, one tree 40 %, 561 sentences/s "
        "| validation loss 0.4000, accuracy 82.50, trees 1.50 | lr 0.09, 12.3 s *"
    )


def test_the_line_of_an_epoch_of_a_stage() -> None:
    assert describe({**RECORD, "stage": 5}).startswith("epoch 3, at most 5 words: loss 0.5000, ")


def test_the_line_of_a_run_that_is_over() -> None:
    trees = {
        "support": 9.9,
        "unknown": 0.0,
        "histogram": {"10": 6, "9": 1},
        "unconverged": 5.0,
        "capped": 4.0,
    }
    result = {"best_epoch": 2, "epochs": 3, "validation": {"accuracy": 50.0}}
    tests = {"test": {"accuracy": 60.0, **trees}, "odd": {"accuracy": 10.0, "unknown": 8.03}}
    assert finished(Path("runs/a"), {**result, "tests": tests}) == (
        "runs/a: best epoch 2 of 3, validation accuracy 50.00; "
        "test accuracy 60.00, trees 9.90, certified 2 of 7, 4 capped, 1 stalled; "
        "odd accuracy 10.00, unknown words 8.0 %"
    )


def test_lines() -> None:
    file = io.StringIO()
    lines = Lines(file)
    lines.start_epoch(3, 0, 10)
    lines.step(1, Values([Accuracy(), TreeStatistics()], 4, 2.0))
    lines.end_epoch(RECORD)
    lines.note("over")
    lines.close()
    assert file.getvalue() == describe(RECORD) + "\nover\n"


def test_bars() -> None:
    file = io.StringIO()
    bars = Bars(Console(file=file, force_terminal=True, width=150))
    bars.start_epoch(3, 2, 10)
    right = Accuracy(4, 2.0, Counter({(1, 1): 3, (1, 0): 1}))
    bars.step(4, Values([right, TreeStatistics()], 4, 2.0))
    bars._bar.refresh()
    bars.end_epoch(RECORD)
    bars.note("[red] is no markup here")
    bars.close()
    shown = file.getvalue()
    assert "4/10" in shown
    assert "loss 0.5000, accuracy 75.00, 2 sentences/s" in shown
    assert "epoch 3: loss 0.5000" in shown
    assert "[red] is no markup here" in shown


def test_the_time_left_is_that_of_the_whole_run(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("sparsewood.lab.train.progress.time.monotonic", lambda: now)
    file = io.StringIO()
    lines = Lines(file)
    bars = Bars(Console(file=file, force_terminal=True, width=150))
    for progress in (lines, bars):
        progress.begin(Path("runs/a"), 2, 12)  # two epochs were done before
        progress.start_epoch(3, 0, 10)
    now += 30.0
    bars.step(5, Values([Accuracy(), TreeStatistics()], 4, 2.0))  # half an epoch in 30 seconds
    bars._bar.refresh()
    assert "at most 9:30 left" in file.getvalue()
    bars.close()
    now += 450.0
    lines.end_epoch(RECORD)  # the third epoch, after 480 seconds
    assert file.getvalue().endswith("12.3 s, at most 1:12:00 left *\n")
    lines.end_epoch({**RECORD, "epoch": 12})
    assert file.getvalue().endswith("12.3 s *\n")


def test_the_time_left_is_at_most_that_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("sparsewood.lab.train.progress.time.monotonic", lambda: now)
    file = io.StringIO()
    lines = Lines(file)
    lines.begin(Path("runs/a"), 0, 1000, 200.0)
    lines.start_epoch(1, 0, 10)
    now += 50.0
    lines.end_epoch({**RECORD, "epoch": 1})
    assert file.getvalue().endswith("12.3 s, at most 2:30 left *\n")


def test_stages_are_no_part_of_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("sparsewood.lab.train.progress.time.monotonic", lambda: now)
    file = io.StringIO()
    bars = Bars(Console(file=file, force_terminal=True, width=250))
    bars.begin(Path("runs/a"), 0, 4)
    bars.start_epoch(2, 0, 10, 5)
    now += 30.0
    bars.step(5, Values([Accuracy(), TreeStatistics()], 4, 2.0))
    bars._bar.refresh()
    bars.end_epoch({**RECORD, "epoch": 2, "stage": 5})
    assert "epoch 2, at most 5 words" in file.getvalue()
    assert "left" not in file.getvalue()
    bars.start_epoch(3, 0, 10)
    now += 30.0
    bars.end_epoch(RECORD)  # the first of four
    bars.close()
    assert "at most 1:30 left" in file.getvalue()


def test_the_result_of_a_single_run_is_left_to_who_asked() -> None:
    result = {"best_epoch": 2, "epochs": 3, "validation": {"accuracy": 50.0}, "tests": {}}
    for single, said in (
        (False, "{0}already finished: {0}"),
        (True, "run: runs/a\nruns/a: already finished\n"),
    ):
        file = io.StringIO()
        lines = Lines(file, single=single)
        lines.begin(Path("runs/a"), 0, 3)
        lines.finish(Path("runs/a"), result)
        lines.finish(Path("runs/a"), result, already=True)
        assert file.getvalue() == said.format(finished(Path("runs/a"), result) + "\n")


@pytest.mark.parametrize(("terminal", "kind"), [(True, Bars), (False, Lines)])
def test_bars_are_for_terminals(monkeypatch, terminal: bool, kind: type) -> None:
    file = io.StringIO()
    file.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stderr", file)
    assert type(automatic()) is kind
