import json
from dataclasses import fields
from pathlib import Path

import pytest

from sparsewood.lab.data import (
    SOURCES,
    Classify,
    ListOps,
    RevDict,
    Source,
    Sst,
    Subj,
    source_from_json,
    source_to_json,
)


@pytest.fixture
def train(tmp_path: Path) -> str:
    path = tmp_path / "train.tsv"
    path.write_text("x\ta b c\nx\tdon't\ny\ta\n")
    return str(path)


def test_heads_are_attached_and_training_examples_chosen(train: str, tmp_path: Path) -> None:
    heads = tmp_path / "heads.tsv"
    heads.write_text("_\tdo n't\t0 1\n_\ta b c\t0 1 1\n")

    def lengths(**options: object) -> dict[str, list[int]]:
        source = Classify(train, validation=train, heads=(heads,), **options)  # type: ignore[arg-type]
        splits = source.load().splits
        return {name: [len(e.sentences[0].words) for e in split] for name, split in splits.items()}

    assert lengths() == {"train": [3, 2, 1], "validation": [3, 2, 1]}
    assert lengths(max_length=2) == {"train": [2, 1], "validation": [3, 2, 1]}
    assert lengths(skip_unparsed=True) == {"train": [3, 2], "validation": [3, 2, 1]}
    with pytest.raises(ValueError, match="max_length: expected at least 1, got 0"):
        lengths(max_length=0)
    (tmp_path / "train.tsv").write_text("x\ta b c\n")
    with pytest.raises(ValueError, match="all training examples were dropped: max_length is 2"):
        lengths(max_length=2)


def test_vectors_are_those_named(train: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("a 1 2\nb 3 4\n")
    vectors = Classify(train, vectors=str(path)).load_vectors(["a", "c"])
    assert vectors is not None
    assert vectors.lookup(["a", "c"]).tolist() == [[1, 2], [0, 0]]
    assert Classify(train).load_vectors(["a"]) is None


@pytest.mark.parametrize(
    "source",
    [
        Sst(Path("a"), phrases=True, heads=(Path("b"), Path("c")), max_length=9),
        Subj(Path("a"), split_seed=3, parser="spacy"),
        RevDict(),
        RevDict(Path("a"), vectors="v.npz"),
        ListOps(files=(Path("t.tsv"),), train=5, operator_probability=0.5),
        Classify("a.csv", label="y", lowercase=False),
    ],
)
def test_json_and_back(source: Source) -> None:
    data = json.loads(json.dumps(source_to_json(source)))
    assert data["kind"] == source.name
    assert source_from_json(data) == source


def test_json_that_is_no_source() -> None:
    with pytest.raises(ValueError, match="expected a kind among sst, .*; got 'imdb'"):
        source_from_json({"kind": "imdb"})
    with pytest.raises(ValueError, match="source: unknown size; expected heads, "):
        source_from_json({"kind": "sst", "data": "a", "size": 3})
    with pytest.raises(ValueError, match="source.data is missing"):
        source_from_json({"kind": "sst"})


def test_every_field_is_documented() -> None:
    for source in SOURCES.values():
        documented = "".join(cls.__doc__ or "" for cls in source.__mro__)
        for field in fields(source):
            assert f"    {field.name}: " in documented, (source.name, field.name)


def test_vectors_of_other_words(train: str, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("z 1 2\n")
    source = Classify(train, vectors=str(tmp_path / "v.txt"))
    with pytest.raises(ValueError, match="v.txt: has no vector for any word of the data"):
        source.load_vectors(["a", "b"])
