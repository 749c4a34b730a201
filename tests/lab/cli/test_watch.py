import json
from pathlib import Path

import pytest
from rich.console import Console

from sparsewood.lab.cli._watch import Watch
from sparsewood.lab.tasks import MEASURES


def _write(folder: Path, epochs: int, stages: int = 0, *, trees: bool = True) -> None:
    run = folder / "left-to-right" / "lr-0.1" / "seed-3"
    run.mkdir(parents=True, exist_ok=True)
    (run / "config.json").write_text("{}")
    validation = {"accuracy": 50.0} | ({"support": 1.0} if trees else {})
    records = [
        {"epoch": e, "seconds": 1.0, "best": e == 1 + stages, "validation": validation}
        for e in range(1, epochs + 1)
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))


def test_new_epochs_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write(tmp_path, 1)
    with Watch(tmp_path, MEASURES["accuracy"]):
        _write(tmp_path, 3)
    told = capsys.readouterr().err.splitlines()
    assert [line.split(",")[2] for line in told] == [" seed 3: epoch 2", " seed 3: epoch 3"]


def test_runs_without_trees_are_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Watch(tmp_path, MEASURES["accuracy"]):
        _write(tmp_path, 1, trees=False)
    told = capsys.readouterr().err.splitlines()
    assert told == ["left-to-right, lr 0.1, seed 3: epoch 1, validation 50.00, 1.0 s, best so far"]


def test_a_table_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    watch = Watch(tmp_path, MEASURES["accuracy"])
    shown = Console(width=100)
    with watch:
        _write(tmp_path, 0)
        with shown.capture() as begun:
            shown.print(watch._table(watch._runs()))
        _write(tmp_path, 2, stages=2)
        with shown.capture() as staged:
            shown.print(watch._table(watch._runs()))
        _write(tmp_path, 2)
        with shown.capture() as later:
            shown.print(watch._table(watch._runs()))
    assert "left-to-right, lr 0.1, seed 3" in begun.get()
    assert "50.00" not in begun.get()
    assert staged.get().count("50.00") == 1  # there is no best epoch yet
    assert later.get().count("50.00") == 2


def test_notes_and_other_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Watch(tmp_path, MEASURES["accuracy"], "*/*") as watch:
        watch.note("[its worker] is gone")
        _write(tmp_path / "trial", 1)
        (tmp_path / "trial" / "left-to-right" / "lr-0.1" / "seed-3").rename(tmp_path / "new")
        (tmp_path / "new").rename(tmp_path / "trial" / "4")
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "[its worker] is gone"
    assert told[1].startswith("trial, 4: epoch 1")
