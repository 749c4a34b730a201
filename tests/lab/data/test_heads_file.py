from pathlib import Path

import pytest

from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.heads_file import (
    attach_heads,
    count_missing,
    has_heads_form,
    read_heads_file,
)


def _corpus(*texts: str) -> Corpus:
    examples = [Example((Sentence(tuple(text.split())),), "x") for text in texts]
    return Corpus("classify", {"train": examples})


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_labels_tokens_and_heads(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.tsv", "pos\tit works\t2 0\tnsubj ROOT\n\nneg\tno\t0\n")
    assert read_heads_file(path) == [
        Example((Sentence(("it", "works"), (2, 0)),), "pos"),
        Example((Sentence(("no",), (0,)),), "neg"),
    ]


@pytest.mark.parametrize("line", ["x\tit works", "x\tit works\t2", "x\tit works\t2 1", "x\t\t"])
def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    path = _write(tmp_path / "a.tsv", f"x\tno\t0\n{line}\n")
    with pytest.raises(ValueError, match="a.tsv:2: "):
        read_heads_file(path)


def test_a_sentence_gets_the_tokens_and_heads_of_its_text(tmp_path: Path) -> None:
    _write(tmp_path / "b.tsv", "x\tdon 't\t0 1\n")
    _write(tmp_path / "a.tsv", "x\tdo n't\t0 1\nx\tnever used\t9 9\n")
    _write(tmp_path / "other.txt", "not of heads")
    corpus = attach_heads(_corpus("don't", "do n't", "Don't"), [tmp_path])
    found = [example.sentences[0] for example in corpus.splits["train"]]
    assert found[:2] == [Sentence(("do", "n't"), (0, 1))] * 2  # a.tsv comes first
    assert found[2] == Sentence(("Don't",))
    assert count_missing(corpus.splits["train"]) == 1


def test_heads_from_conllu(tmp_path: Path) -> None:
    pytest.importorskip("conllu", reason="the extra [conllu] is not installed")
    rows = ["1-2\tdon't", "1\tdo\t\t\t\t\t0", "2\tn't\t\t\t\t\t1", "2.1\tsee", "3\t.\t\t\t\t\t1"]
    full = [row + "\t_" * (9 - row.count("\t")) for row in rows]
    text = "\n".join(["# text = Don't.", *full]).replace("\t\t", "\t_\t").replace("\t\t", "\t_\t")
    path = _write(tmp_path / "a.conllu", text + "\n\n")
    corpus = attach_heads(_corpus("Don't ."), [path])
    assert corpus.splits["train"][0].sentences == (Sentence(("do", "n't", "."), (0, 1, 1)),)


def test_a_wanted_line_is_checked(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.tsv", "x\tit works\t2 1\n")
    with pytest.raises(ValueError, match="a.tsv:1: heads: word 1 is in or below a cycle"):
        attach_heads(_corpus("it works"), [path])


def test_paths_that_hold_no_heads_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no .tsv or .conllu files"):
        attach_heads(_corpus("a"), [tmp_path])
    with pytest.raises(ValueError, match="absent: no such file or folder of heads"):
        attach_heads(_corpus("a"), [tmp_path / "absent"])


@pytest.mark.parametrize(
    ("line", "expected"),
    [("x\ta b\t2 0", True), ("x\ta b\t2", False), ("x\ta b\tc d", False), ("x\ta", False)],
)
def test_the_form_of_a_line(line: str, expected: bool) -> None:
    assert has_heads_form(line) is expected


def test_heads_of_other_data(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.tsv", "x\tA b\t2 0\n")
    with pytest.raises(ValueError, match="a.tsv: no heads for any sentence of the data"):
        attach_heads(_corpus("a b"), [path])
