import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sparsewood.lab.data.user_files import read_own, read_own_splits


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_form_is_told_by_name_and_first_line(tmp_path: Path) -> None:
    plain = _write(tmp_path / "plain.tsv", "x\tdon't\n")
    header = _write(tmp_path / "header.tsv", "text\tlabel\ndon't\tx\n")
    heads = _write(tmp_path / "heads.tsv", "x\tdo n't\t0 1\n")
    named = _write(tmp_path / "named.tsv", "y\tbody\nx\tdon't\n")
    comma = _write(tmp_path / "comma.csv", "label,text\nx,don't\n")
    lines = _write(tmp_path / "lines.jsonl", '{"label": "x", "text": "don\'t"}\n')
    for path in (plain, header, heads, comma, lines):
        (example,) = read_own(path, None, [None])
        assert (example.label, example.sentences[0].words) == ("x", ("do", "n't"))
        assert example.sentences[0].heads == ((0, 1) if path == heads else None)
    assert read_own(named, "y", ["body"])[0].sentences[0].words == ("do", "n't")
    with pytest.raises(ValueError, match="no column 'body'; the columns are label, text"):
        read_own(comma, None, ["body"])


def test_pairs(tmp_path: Path) -> None:
    plain = _write(tmp_path / "plain.tsv", "x\ta b\t1 2\n")  # text, not heads
    comma = _write(tmp_path / "comma.csv", "label,text,text2\nx,a b,1 2\n")
    for path in (plain, comma):
        (example,) = read_own(path, None, [None, None])
        assert [s.words for s in example.sentences] == [("a", "b"), ("1", "2")]
    with pytest.raises(ValueError, match="have no pairs"):
        read_own(_write(tmp_path / "a.conllu", ""), None, [None, None])


def test_validation_is_held_out_where_there_is_none(tmp_path: Path) -> None:
    train = str(_write(tmp_path / "a.tsv", "".join(f"x\ta {i}\n" for i in range(20))))
    splits = read_own_splits(train, None, train, None, [None], seed=0)
    assert {n: len(s) for n, s in splits.items()} == {"train": 18, "test": 20, "validation": 2}
    given = read_own_splits(train, train, None, None, [None], seed=0)
    assert {n: len(s) for n, s in given.items()} == {"train": 20, "validation": 20}
    with pytest.raises(ValueError, match="absent.tsv: no such file of examples"):
        read_own_splits("absent.tsv", None, None, None, [None], seed=0)


class _Rows(list[dict[str, object]]):
    column_names = ("sentence", "label")
    features = {"sentence": None, "label": SimpleNamespace(names=["no", "yes"])}  # noqa: RUF012


def test_data_sets_of_the_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = _Rows([{"sentence": "It's so.", "label": 1}, {"sentence": "no", "label": -1}])
    loaded = {"train": rows, "dev": rows, "test": _Rows(rows[1:])}
    asked = []

    def load_dataset(*name: str | None) -> dict[str, _Rows]:
        asked.append(name)
        return loaded

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    splits = read_own_splits("hf:me/it:small", None, None, None, ["sentence"], seed=0)
    assert asked == [("me/it", "small")]
    assert {name: [(e.label, e.sentences[0].words) for e in s] for name, s in splits.items()} == {
        "train": [("yes", ("It", "'s", "so", "."))],
        "validation": [("yes", ("It", "'s", "so", "."))],
    }
    with pytest.raises(ValueError, match="no split 'test'; the splits are train, validation"):
        read_own_splits("hf:me/it", None, "hf:me/it", None, ["sentence"], seed=0)


def test_files_without_enough_examples(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a folder; expected a file of examples"):
        read_own(tmp_path, None, [None])
    for name in ("a.tsv", "a.jsonl", "a.conllu"):
        with pytest.raises(ValueError, match=f"{name}: no examples in this file"):
            read_own(_write(tmp_path / name, "\n"), None, [None])
    one = str(_write(tmp_path / "one.tsv", "x\ta\n"))
    with pytest.raises(ValueError, match="one.tsv: too few examples to hold any out"):
        read_own_splits(one, None, None, None, [None], seed=0)


@pytest.mark.parametrize(("form", "kind"), [("{}.5", "numbers"), ("name{}", "labels")])
def test_labels_that_are_no_classes(tmp_path: Path, form: str, kind: str) -> None:
    rows = "".join(f"{form.format(i)}\ta\n" for i in range(300))
    path = str(_write(tmp_path / "a.tsv", rows))
    for validation in (None, path):
        with pytest.raises(ValueError, match=f"a.tsv: the labels are 300 different {kind} in 300"):
            read_own_splits(path, validation, None, None, [None], seed=0)


def test_few_examples_of_many_classes_are_no_mistake(tmp_path: Path) -> None:
    path = str(_write(tmp_path / "a.tsv", "".join(f"{i % 40}\ta {i}\n" for i in range(80))))
    assert len(read_own_splits(path, None, None, None, [None], seed=0)["train"]) > 60


SECRET = "hunter2hunter2hunter2hunter2hunter2hunter2hunter2"


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl", "a.conllu"])
@pytest.mark.parametrize("label", [None, "y"])
def test_errors_do_not_repeat_what_a_file_holds(tmp_path: Path, name: str, label: str) -> None:
    path = _write(tmp_path / name, f"root:{SECRET}:0\nuser:{SECRET}:1\n")
    with pytest.raises(ValueError, match=name) as caught:
        read_own(path, label, [None])
    assert SECRET not in str(caught.value)
