"""Lines: an epoch each, the time left, and the words they use."""

import io
from pathlib import Path

import pytest

from sparsewood.lab.run.progress import Lines, Values, clock, describe, finished
from sparsewood.lab.tasks.metrics import Accuracy, TreeStatistics
from tests.records import RECORD


def test_the_line_of_an_epoch() -> None:
    assert describe(RECORD) == (
        "epoch 3: loss 0.5000, accuracy 80.00, trees 2.50, one tree 40 %, 561 sentences/s "
        "| validation loss 0.4000, accuracy 82.50, trees 1.50 | lr 0.09, 12.3 s, best so far"
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


def test_clocks() -> None:
    assert [clock(seconds) for seconds in (6.6, 570, 4320)] == ["0:07", "9:30", "1:12:00"]


def test_the_time_left_is_that_of_the_whole_run(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("sparsewood.lab.run.progress.time.monotonic", lambda: now)
    file = io.StringIO()
    lines = Lines(file)
    lines.begin(Path("runs/a"), 2, 12)  # two epochs were done before
    lines.start_epoch(3, 0, 10)
    now += 480.0
    lines.end_epoch({**RECORD, "best": False})
    assert file.getvalue().endswith("12.3 s, at most 1:12:00 left\n")
    lines.end_epoch({**RECORD, "epoch": 12})
    assert file.getvalue().endswith("12.3 s, best so far\n")


def test_the_time_left_is_at_most_that_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("sparsewood.lab.run.progress.time.monotonic", lambda: now)
    file = io.StringIO()
    lines = Lines(file)
    lines.begin(Path("runs/a"), 0, 1000, 200.0)
    lines.start_epoch(1, 0, 10)
    now += 50.0
    lines.end_epoch({**RECORD, "epoch": 1})
    assert file.getvalue().endswith("12.3 s, at most 2:30 left, best so far\n")


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
