"""What arguments stand for."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sparsewood.lab.cli._inputs import Files, Line, check_arguments, is_interactive, lines_of
from sparsewood.lab.data import Sentence


def _lines(arguments: Sequence[str | Path], width: int = 1, **files: Any) -> list[Line]:
    texts = [str(argument) for argument in arguments]
    check_arguments(texts, Files(**files))
    return list(lines_of(texts, width, Files(**files), _read))


def _read(text: str) -> Sentence:
    """All of a text as one word: how it is split is a model's to say."""
    if "bad" in text.split():
        raise ValueError("expected no bad word")
    return Sentence((text,))


def _line(*texts: str, where: str = "") -> Line:
    return Line(tuple(map(_read, texts)), where)


def _texts(line: Line) -> tuple[str, ...]:
    return tuple(sentence.words[0] for sentence in line.sides)


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_typed_sentences() -> None:
    assert _lines(["a b", "word"]) == [_line("a b"), _line("word")]
    long = "word " * 2000  # no file can have this name
    assert _lines([long]) == [_line(long)]


def test_a_file_is_read(tmp_path: Path) -> None:
    plain = _write(tmp_path / "plain.txt", "one two\n\nthree\n")
    assert _lines([plain, "typed too"]) == [
        _line("one two", where=f"{plain}:1"),
        _line("three", where=f"{plain}:3"),
        _line("typed too"),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", 'stars\treview\n5\ta "b"\n'),
        ("a.csv", 'stars,review\n5,"a ""b"""\n'),
        ("a.jsonl", '{"stars": 5, "review": "a \\"b\\""}\n'),
        ("a.txt", 'stars\treview\n5\ta "b"\n'),
    ],
)
def test_a_column_of_a_table(name: str, text: str, tmp_path: Path) -> None:
    (line,) = _lines([_write(tmp_path / name, text)], text="review")
    assert _texts(line) == ('a "b"',)
    assert line.where.startswith(f"{tmp_path / name}:")


def test_the_column_text_needs_no_option(tmp_path: Path) -> None:
    (line,) = _lines([_write(tmp_path / "a.csv", "label,text\n1,a b\n")])
    assert _texts(line) == ("a b",)
    other = _write(tmp_path / "b.tsv", "review\tstars\na b\t5\n")
    with pytest.raises(
        ValueError, match="no column 'text'; the columns are review, stars; select another"
    ):
        _lines([other])
    with pytest.raises(ValueError, match="no column 'reviews'; the columns are review, stars"):
        _lines([other], text="reviews")


def test_conllu_brings_heads(tmp_path: Path) -> None:
    rows = ["1\ta\t_\t_\t_\t_\t2\t_\t_\t_", "2\tdog\t_\t_\t_\t_\t0\t_\t_\t_", "", ""]
    path = _write(tmp_path / "a.conllu", "\n".join(rows))
    assert _lines([path]) == [Line((Sentence(("a", "dog"), (2, 0)),), f"{path}, sentence 1")]
    with pytest.raises(ValueError, match="no pairs"):
        _lines([path], width=2)


def test_pairs(tmp_path: Path) -> None:
    assert _lines(["a b", "c"], 2) == _lines(["a b\tc"], 2) == [_line("a b", "c")]
    plain = _write(tmp_path / "p.txt", "a b\tc\n")
    table = _write(tmp_path / "p.tsv", "text\ttext2\na b\tc\n")
    named = _write(tmp_path / "q.csv", "p,h\na b,c\n")
    assert _texts(_lines([plain], 2)[0]) == _texts(_lines([table], 2)[0]) == ("a b", "c")
    assert _texts(_lines([named], 2, text="p", text2="h")[0]) == ("a b", "c")
    with pytest.raises(
        ValueError, match="expected pairs of sentences; 'a b' has no second sentence"
    ):
        _lines(["a b"], 2)
    with pytest.raises(
        ValueError, match=r"p.txt:2: expected premise and hypothesis separated by a tab; got 1 col"
    ):
        _lines([_write(plain, "a b\tc\nx\n")], 2)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("one\n\ntwo\n"))
    found = [_line("one", where="standard input:1"), _line("two", where="standard input:3")]
    assert _lines(["-"]) == found
    monkeypatch.setattr("sys.stdin", io.StringIO("one\n\ntwo\n"))
    assert _lines([]) == found
    assert not is_interactive([])
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    with pytest.raises(ValueError, match="no sentences: standard input is empty"):
        _lines(["-"])


@pytest.mark.parametrize("name", ["absent.tsv", "absent.CSV", "a.txt", "x.json", "data/x", "./y"])
def test_a_path_that_is_none_is_no_sentence(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: no such file"):
        _lines([name])


def test_what_is_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [_texts(line)[0] for line in _lines(["and/or what", "fine.", "see a.txt"])] == [
        "and/or what",
        "fine.",
        "see a.txt",
    ]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is a folder; expected a sentence, a file or -"):
        _lines([tmp_path])
    with pytest.raises(ValueError, match="no sentences in this file"):
        _lines([_write(tmp_path / "empty.txt", "\n")])
    with pytest.raises(ValueError, match="expected a header, got an empty file"):
        _lines([_write(tmp_path / "empty.tsv", "")])
    with pytest.raises(ValueError, match=r"a.tsv:3: an empty sentence"):
        _lines([_write(tmp_path / "a.tsv", "text\tn\nb\t1\n \t2\n")])
    with pytest.raises(ValueError, match="expected a .jsonl file with one object per line"):
        _lines([_write(tmp_path / "a.json", "[]")])
    with pytest.raises(ValueError, match="--text2: applies to files only, but no file"):
        _lines(["a b"], text2="x")
    with pytest.raises(ValueError, match="expected a sentence, got white space"):
        _lines(["  "])


def test_a_mistake_in_the_last_file_comes_first(tmp_path: Path) -> None:
    good = _write(tmp_path / "good.txt", "a\n")
    bad = _write(tmp_path / "bad.txt", "")
    with pytest.raises(ValueError, match="bad.txt: no sentences"):
        lines_of(["a sentence", str(good), str(bad)], 1, Files(), _read)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes that have names")
def test_a_pipe_by_name(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"one\ntwo\n")
    os.close(writer)
    try:
        assert [_texts(line) for line in _lines([f"/dev/fd/{reader}"])] == [("one",), ("two",)]
    finally:
        os.close(reader)


def test_other_encodings_and_delimiters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("n;text\n1;café, noir\n".encode("latin-1"))
    (line,) = _lines([path], encoding="latin-1", delimiter=";")
    assert _texts(line) == ("café, noir",)
    with pytest.raises(ValueError, match="delimiter: expected one character"):
        _lines([path], delimiter=";;")
    with pytest.raises(ValueError, match="encoding: unknown encoding 'latin-99'"):
        _lines(["a b"], encoding="latin-99")
    stdin = io.TextIOWrapper(io.BytesIO("café\n".encode("latin-1")), "utf-8")
    monkeypatch.setattr("sys.stdin", stdin)
    assert _texts(_lines(["-"], encoding="latin-1")[0]) == ("café",)


def test_bad_lines_are_skipped_and_listed(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.tsv", "text\tn\na b\t1\n \t2\nc\nd\t3\n")
    with pytest.warns(UserWarning, match="a.tsv: 2 of 4 rows skipped: .*a.tsv:3: an empty") as told:
        found = _lines([path], skip_bad=True)
    assert [_texts(line)[0] for line in found] == ["a b", "d"]
    assert "a.tsv:4: expected 2 columns" in str(told[0].message)
    pairs = _write(tmp_path / "p.txt", "a\tb\nalone\n")
    with pytest.warns(UserWarning, match="1 of 2 rows skipped"):
        assert len(_lines([pairs], 2, skip_bad=True)) == 1
    none = _write(tmp_path / "n.txt", "alone\n")
    with pytest.raises(
        ValueError, match="no sentences in this file; all lines were skipped: .*n.txt:1"
    ):
        _lines([none], 2, skip_bad=True)


def test_what_a_model_cannot_read_is_a_bad_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^expected no bad word$"):
        _lines(["a good one", "a bad one"])
    for name, text in (("a.txt", "a\nbad\nc\n"), ("a.csv", "text\na\nbad\nc\n")):
        path = _write(tmp_path / name, text)
        number = text.splitlines().index("bad") + 1
        with pytest.raises(ValueError, match=f"{name}:{number}: expected no bad word"):
            _lines([path])
        with pytest.warns(UserWarning, match=f"{name}: 1 of 3 rows skipped: .*no bad word"):
            assert [_texts(line) for line in _lines([path], skip_bad=True)] == [("a",), ("c",)]
