from pathlib import Path

import pytest

from sparsewood.lab.data.sources import Parse

ROW = "{}\t{}\t_\t_\t_\t_\t{}\t_\t_\t_\n"


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    """A treebank whose files differ in their number of sentences."""
    pytest.importorskip("conllu", reason="the extra [conllu] is not installed")
    for size, name in enumerate(("train", "dev", "test"), 1):
        text = (ROW.format(1, "Oaks", 2) + ROW.format(2, "grow", 0) + "\n") * size
        (tmp_path / f"toy-{name}.conllu").write_text(text, encoding="utf-8")
    return tmp_path


def test_three_files_are_the_splits(bank: Path) -> None:
    corpus = Parse(bank).load()
    sizes = {name: len(split) for name, split in corpus.splits.items()}
    assert sizes == {"train": 1, "validation": 2, "test": 3}
    (sentence,) = corpus.splits["train"][0].sentences
    assert (sentence.words, sentence.heads) == (("Oaks", "grow"), (2, 0))
    assert corpus.task == "parse"


def test_files_that_are_missing_or_too_many(bank: Path) -> None:
    (bank / "other-dev.conllu").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="one file \\*dev.conllu, found other-dev.conllu, toy-dev"):
        Parse(bank).load()
    (bank / "toy-train.conllu").unlink()
    with pytest.raises(ValueError, match="expected one file \\*train.conllu, found none"):
        Parse(bank).load()
    with pytest.raises(ValueError, match="absent: no such folder"):
        Parse(bank / "absent").load()


def test_vectors_of_the_treebank_and_of_the_first_words(bank: Path) -> None:
    file = bank / "vectors.txt"
    file.write_text("the 1 1\nyew 2 2\noaks 3 3\nfir 4 4\n", encoding="utf-8")
    source = Parse(bank, keep_vectors=1, vectors=str(file))
    vectors = source.load_vectors(["Oaks", "grow"])
    assert vectors is not None
    assert vectors.words == ("the", "oaks")
    assert vectors.lookup(["oaks"]).tolist() == [[3, 3]]
    assert Parse(bank).load_vectors(["Oaks"]) is None


def test_what_a_treebank_needs_none_of(bank: Path) -> None:
    with pytest.raises(ValueError, match="parser: not an option of the source parse"):
        Parse(bank, parser="spacy")
