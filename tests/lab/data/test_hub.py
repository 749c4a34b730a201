import sys
from types import SimpleNamespace

import pytest

from sparsewood.lab._extras import MissingExtra
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.hub import read_hub
from sparsewood.lab.data.read_options import ReadOptions


class _Rows(list[dict[str, object]]):
    column_names = ("a", "b", "y")
    features = {"y": None}  # noqa: RUF012


def _fake(monkeypatch: pytest.MonkeyPatch, result: object) -> None:
    def load_dataset(path: str, configuration: str | None) -> object:
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))


def test_pairs_with_labels_that_are_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    row: dict[str, object] = {"a": "one two", "b": "three", "y": "same"}
    _fake(monkeypatch, {"train": _Rows([row]), "valid": _Rows([row])})
    splits = read_hub("hf:it", "y", ["a", "b"])
    assert list(splits) == ["train", "validation"]
    (example,) = splits["validation"]
    assert example.label == "same"
    assert [s.words for s in example.sentences] == [("one", "two"), ("three",)]


def test_what_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _fake(monkeypatch, {"train": _Rows([{"a": " ", "b": "", "y": "1"}])})
    with pytest.raises(ValueError, match="hf:it train: no column 'z'; the columns are a, b, y"):
        read_hub("hf:it", "z", ["a"])
    with pytest.raises(ValueError, match="hf:it train:0: an empty sentence"):
        read_hub("hf:it", "y", ["a"])
    _fake(monkeypatch, FileNotFoundError("nowhere"))
    with pytest.raises(ValueError, match=r"hf:it: cannot be loaded \(nowhere\)"):
        read_hub("hf:it", "y", ["a"])
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"\[hub\]\): .*pip install .*datasets"):
        read_hub("hf:it", "y", ["a"])


class _Classes:
    names = ("no", "yes", "maybe")


class _Sequence:
    feature = _Classes


def test_numbers_and_lists_of_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(values: list[object], feature: object, how: ReadOptions) -> list[Example]:
        rows = _Rows([{"a": "one two", "b": "", "y": value} for value in values])
        rows.features = {"y": feature}  # type: ignore[misc]
        _fake(monkeypatch, {"train": rows})
        return read_hub("hf:it", "y", ["a"], how).get("train", [])

    numbers = read([0.1, -1, None, 3], None, ReadOptions(target="number"))
    assert [example.label for example in numbers] == ["0.1", "-1", "3"]
    with pytest.raises(ValueError, match="hf:it train:1: label: expected a finite number"):
        read([0.1, float("nan")], None, ReadOptions(target="number"))
    several = ReadOptions(target="labels")
    found = read([[2, 0], [], None, [1]], _Sequence, several)
    assert [example.labels for example in found] == [("maybe", "no"), (), ("yes",)]
    assert read([["x"], "x|y"], None, several)[1].labels == ("x", "y")
    with pytest.raises(ValueError, match="label: expected one, got 2: --target labels"):
        read([[0, 1]], _Sequence, ReadOptions())
