import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sparsewood.lab.serve.answer import Served
from sparsewood.lab.serve.load import example_questions, load_runs

Serves = Callable[..., Served]


def _saved(run: Served, folder: Path) -> Path:
    run.model.save_pretrained(folder)
    return folder


def test_names_tell_runs_apart(serves: Serves, tmp_path: Path) -> None:
    one = _saved(serves("flat"), tmp_path / "a" / "run")
    two = _saved(serves(), tmp_path / "b" / "run")
    three = _saved(serves(), tmp_path / "b" / "other")
    assert [run.name for run in load_runs([one, two, three])] == ["a", "b", "other"]
    assert [run.variant for run in load_runs([one])] == ["estimator flat"]
    below = [tmp_path / name / "lr-0.1" / "seed-0" for name in ("flat", "given")]
    runs = [_saved(serves(), folder) for folder in below]
    assert [run.name for run in load_runs(runs)] == ["flat", "given"]
    deep = _saved(serves(), tmp_path / "flat" / "seed-0")
    names = [run.name for run in load_runs([runs[0], deep])]
    assert names == ["lr-0.1/seed-0", "seed-0"]


def test_what_cannot_be_served(serves: Serves, operations: Served, tmp_path: Path) -> None:
    one = _saved(serves(), tmp_path / "one")
    two = _saved(serves(task="nli"), tmp_path / "two")
    with pytest.raises(ValueError, match=r"the same task, got one \(classify\), two \(nli\)"):
        load_runs([one, two])
    three = _saved(operations, tmp_path / "three")
    with pytest.raises(ValueError, match=r"three \(classify of list operations\)"):
        load_runs([one, three])
    with pytest.raises(ValueError, match="one: named twice"):
        load_runs([one, tmp_path / "two" / ".." / "one"])
    with pytest.raises(ValueError, match="absent: no such folder"):
        load_runs([tmp_path / "absent"])
    with pytest.raises(ValueError, match="expected the folder"):
        load_runs([])


def test_short_examples_are_offered(tmp_path: Path) -> None:
    assert example_questions([tmp_path]) == []
    texts = ["oak " * 30, "an oak", "elms", "", "an oak", "ash", "far", "from"]
    examples = [{"sides": [{"words": text.split()}], "prediction": {}} for text in texts]
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "gallery.json").write_text(json.dumps(examples))
    assert example_questions([tmp_path / "none", tmp_path]) == [("an oak",), ("elms",), ("ash",)]
