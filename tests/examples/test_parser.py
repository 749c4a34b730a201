"""The script that trains a parser: a run, a run that is stopped and goes on, mistakes."""

import importlib.util
import json
import signal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sparsewood.lab.tasks.parse import load_parser

SCRIPT = Path(__file__).parents[2] / "examples" / "parser.py"
SENTENCE = [("oaks", 2), ("shade", 0), ("elms", 2), (".", 2)]


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_parser", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A treebank of one sentence, and a question and an answer of one word."""
    pytest.importorskip("conllu", reason="the extra [conllu] is not installed")
    rows = [f"{i}\t{w}\t_\t_\t_\t_\t{h}\t_\t_\t_" for i, (w, h) in enumerate(SENTENCE, 1)]
    short = "1\toaks\t_\t_\t_\t_\t0\t_\t_\t_"
    folder = tmp_path / "treebank"
    folder.mkdir()
    for name in ("train", "dev", "test"):
        text = "\n".join([*rows, "", short, "", *rows, "", ""])
        (folder / f"toy-{name}.conllu").write_text(text, encoding="utf-8")
    return folder


def arguments(data: Path, out: Path, *more: str) -> list[str]:
    small = "--epochs 3 --batch 5 --hidden 8 --layers 1 --device cpu --loss hinge"
    return ["--data", str(data), "--out", str(out), *small.split(), *more]


def result_of(folder: Path) -> dict[str, Any]:
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    lines = [{k: v for k, v in line.items() if k != "seconds"} for line in result["history"]]
    return {"history": lines, "test": result["test"]}


def test_a_stopped_run_goes_on_as_if_nothing_had_happened(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("oaks 1 2\nelms 2 1\nyew 0 1\n", encoding="utf-8")
    glove = ("--glove", str(vectors), "--keep-vectors", "1")
    script = load_script()
    assert script.main(arguments(data, tmp_path / "whole", *glove)) == 0
    parser = load_parser(tmp_path / "whole")
    assert len(parser.parse([[w for w, _ in SENTENCE]])[0]) == 4
    assert parser.input.vector_words.words == ["<unk>", "elms", "oaks"]

    step, count = script.Training.step, 0

    def interrupted(self: Any, *args: Any) -> float:
        nonlocal count
        count += 1
        if count == 5:  # in the second epoch, of three batches each
            signal.raise_signal(signal.SIGINT)
        return step(self, *args)

    monkeypatch.setattr(script.Training, "step", interrupted)
    parts = tmp_path / "parts"
    assert script.main(arguments(data, parts, *glove)) == 130
    assert not (parts / "result.json").exists()
    assert script.main(arguments(data, parts, *glove)) == 1  # without --resume
    assert script.main(arguments(data, parts, *glove, "--resume", "--lr", "1")) == 1
    assert script.main(arguments(data, parts, *glove, "--resume")) == 0
    assert result_of(parts) == result_of(tmp_path / "whole")
    assert [path.name for path in (parts / "checkpoints").iterdir()] == ["0003"]


def test_mistakes_leave_nothing_behind(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, out = load_script(), tmp_path / "out"
    assert script.main(arguments(tmp_path, out)) == 1
    assert "*train.conllu, found none" in capsys.readouterr().err
    assert script.main(arguments(data, out, "--glove", str(tmp_path / "absent.txt"))) == 1
    assert "no such file of word vectors" in capsys.readouterr().err
    assert not out.exists()
