from pathlib import Path

import pytest

from sparsewood.lab._extras import MissingExtra
from sparsewood.lab.data.conllu import conllu_heads, read_conllu, read_treebank
from sparsewood.lab.data.examples import Example, Sentence


def _row(number: str, form: str, head: str) -> str:
    return "\t".join([number, form, "_", "_", "_", "_", head, "_", "_", "_"])


def _block(*comments: str, heads: tuple[str, str] = ("2", "0")) -> str:
    rows = [_row("1", "it", heads[0]), _row("2", "works", heads[1])]
    return "\n".join([*comments, *rows, "", ""])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pytest.importorskip("conllu", reason="the extra [conllu] is not installed")
    return tmp_path / "a.conllu"


def test_labelled_sentences(path: Path) -> None:
    path.write_text(_block("# label = good") + _block("# sent_id = 2", "# label = bad").rstrip())
    sentence = Sentence(("it", "works"), (2, 0))
    assert read_conllu(path) == [Example((sentence,), "good"), Example((sentence,), "bad")]


def test_a_treebank_needs_no_labels(path: Path) -> None:
    path.write_text(_block() + _block("# label = bad", heads=("0", "1")))
    words = ("it", "works")
    assert read_treebank(path) == [Sentence(words, (2, 0)), Sentence(words, (0, 1))]
    path.write_text(_block() + _block(heads=("2", "1")))
    with pytest.raises(ValueError, match="a.conllu:4: heads: .*cycle"):
        read_treebank(path)


def test_the_line_of_a_wrong_sentence_is_named(path: Path) -> None:
    good = _block("# label = good")
    for block, message in [
        (_block(), "no comment `# label"),
        (_block("# label = x", heads=("2", "1")), "cycle"),
        (_block("# label = x", heads=("_", "0")), "word 1 has no head"),
        (_block("# label = x", heads=("y", "0")), "not a CoNLL-U sentence"),
        ("# label = x\n\n", "an empty sentence|not a sentence"),
    ]:
        path.write_text(good + block)
        with pytest.raises(ValueError, match=f"a.conllu:5: .*({message})"):
            read_conllu(path)


def test_heads_by_the_words_where_there_is_no_text(path: Path) -> None:
    path.write_text(_block("# text = It works") + _block())
    expected = Sentence(("it", "works"), (2, 0))
    assert list(conllu_heads(path, {"itworks"})) == [("itworks", expected)]
    assert list(conllu_heads(path, {"Itworks"})) == [("Itworks", expected)]


def test_the_extra_is_asked_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(_block("# label = x"))
    monkeypatch.setitem(__import__("sys").modules, "conllu", None)
    with pytest.raises(MissingExtra, match=r"\[conllu\]\): .*pip install 'conllu"):
        read_conllu(path)
