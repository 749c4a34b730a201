from pathlib import Path

import pytest

from sparsewood.lab.data.sources import RevDict


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"word{i} {i} 1\n" for i in range(30)))
    return str(path)


@pytest.fixture
def wordnet(tmp_path: Path) -> Path:
    folder = tmp_path / "wordnet"
    folder.mkdir()
    for name in ("noun", "verb", "adj", "adv"):
        (folder / f"data.{name}").write_text("")
    lines = [f"{i:08} 14 n 01 word{i} 0 000 | a thing like {i}  \n" for i in range(40)]
    (folder / "data.noun").write_text("".join(lines))
    return folder


def test_wordnet_with_the_words_that_have_vectors(wordnet: Path, vectors: str) -> None:
    corpus = RevDict(wordnet, vectors=vectors).load()
    assert corpus.task == "revdict"
    assert set(corpus.candidates) == {f"word{i}" for i in range(30)}
    assert corpus.tests == ["seen", "unseen"]
    assert len(RevDict(wordnet, vectors=None).load().candidates) == 40


def test_an_installed_wordnet_is_found(
    wordnet: Path, vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WNSEARCHDIR", str(wordnet))
    assert RevDict(vectors=vectors).load() == RevDict(wordnet, vectors=vectors).load()
    assert RevDict().vectors == "words"


def test_a_folder_of_definitions(tmp_path: Path, vectors: str) -> None:
    folder = tmp_path / "definitions"
    folder.mkdir()
    rows = [f"word{i}\ta thing like {i}\tnoun\n" for i in range(40)]
    (folder / "my_definitions.tsv").write_text("".join(rows))
    test = '[{"word": "word35", "definitions": "a thing"}]'
    (folder / "data_test_500_rand1_unseen.json").write_text(test)
    (folder / "output_shortlist.txt").write_text("word1\nword2\nword33\n")
    corpus = RevDict(folder, vectors=vectors).load()
    assert corpus.candidates == ("word1", "word2", "word35")
    assert [e.label for e in corpus.splits["train"]] == ["word1", "word2"]


def test_folders_that_hold_no_definitions(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="got 0 of these"):
        RevDict(tmp_path, vectors=None).load()
    with pytest.raises(ValueError, match="absent: no such folder"):
        RevDict(tmp_path / "absent", vectors=None).load()
