import json
from collections.abc import Callable
from pathlib import Path

import pytest

Prints = Callable[..., str]


def test_the_newest_run_answers(
    dictionary: Path, prints: Prints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(dictionary.parent.parent)
    found = json.loads(prints("define", "a thing", "--json", "--words", "3"))
    assert found["text"] == "a thing"
    assert found["unknown"] == ["a"]
    assert len(found["words"]) == 3
    assert all(word.startswith("word") for word in found["words"])
    told = prints("define", dictionary, "a thing a gnu", "--words", "2").splitlines()
    assert told[1:3] == ["a thing a gnu", "unknown words: a, gnu"]
    assert "cosine" in told[4]
    assert [line.split()[:2] for line in told[6:8]] == [
        [str(rank), line.split()[1]] for rank, line in enumerate(told[6:8], 1)
    ]


def test_compounds_are_split_as_those_of_definitions(dictionary: Path, prints: Prints) -> None:
    found = json.loads(prints("define", dictionary, "a self-made thing", "--json"))
    assert found["text"] == "a self - made thing"


def test_without_a_run_it_says_how_to_train_one(
    latent: Path, fails: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "sparsewood train revdict" in fails("define", "a thing")
    assert "not a reverse dictionary" in fails("define", latent, "a thing")


def test_a_folder_that_is_not_there(
    dictionary: Path, fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(dictionary.parent.parent)
    assert fails("define", "runs/absent", "a thing").startswith("runs/absent: no such folder")
    assert "--words: expected at least 1" in fails("define", "a thing", "--words", "0")
