import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsewood.lab.data.sources import Classify, Pairs, source_from_json, source_to_json


def test_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("y,one,two\n" + "".join(f"p,a {i},b\n" for i in range(10)))
    single = Classify(str(path), test=str(path), label="y", text="two").load()
    assert single.task == "classify"
    sizes = {name: len(s) for name, s in single.splits.items()}
    assert sizes == {"train": 9, "test": 10, "validation": 1}
    assert single.splits["test"][0].sentences[0].words == ("b",)
    pairs = Pairs(str(path), str(path), label="y", text="one", text2="two").load()
    assert pairs.task == "nli"
    assert [s.words for s in pairs.splits["validation"][3].sentences] == [("a", "3"), ("b",)]


def test_the_target_tells_the_task(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{i / 7}\ta {i}\tb\n" for i in range(40)))
    pairs = Pairs(str(path), target="number")
    assert pairs.task == pairs.load().task == Pairs.task_of({"target": "number"}) == "nli-number"
    assert len(pairs.load().splits["validation"]) == 4
    assert replace(pairs, target="class").task == Pairs.task == "nli"
    assert source_from_json(source_to_json(pairs)) == pairs
    old = {"kind": "classify", "train": "a.csv"}  # as it was written before there were targets
    assert source_from_json(old).task == "classify"
    with pytest.raises(ValueError, match="--target number learns numbers"):
        Pairs(str(path)).load()
    path.write_text(path.read_text() + "high\ta\tb\n")
    with pytest.raises(ValueError, match=r"a\.tsv:41: label: expected a finite number"):
        pairs.load()


def test_several_labels_and_none(tmp_path: Path) -> None:
    rows = [{"label": ["x", "y"], "text": "a"}, {"label": "y;z", "text": "b"}]
    rows += [{"label": None, "text": "c"}, {"label": [], "text": "d"}]
    lines, table = tmp_path / "a.jsonl", tmp_path / "a.tsv"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table.write_text("x;y\ta\ny;z\tb\n\tc\n ; \td\n")
    options: Any = {"target": "labels", "label_separator": ";"}
    for path in (lines, table):
        corpus = Classify(str(path), str(path), **options).load()
        assert corpus.labels == ["x", "y", "z"]
        found = [example.labels for example in corpus.splits["train"]]
        assert found == [("x", "y"), ("y", "z"), (), ()]
    conllu = tmp_path / "a.conllu"
    conllu.write_text("# label = x;z\n1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n\n")
    pytest.importorskip("conllu", reason="the extra [conllu] is not installed")
    (example,) = Classify(str(conllu), str(conllu), **options).load().splits["train"]
    assert example.labels == ("x", "z")


def test_options_that_do_not_go_together() -> None:
    with pytest.raises(ValueError, match='label_separator: expected the target "labels"'):
        Classify("a.tsv", label_separator=";")
    with pytest.raises(ValueError, match="target: expected one of class, number, labels"):
        Classify("a.tsv", target="sum")  # type: ignore[arg-type]
