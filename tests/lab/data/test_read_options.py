"""Encodings, delimiters, bad rows and long ones, in every form of a user's own files."""

import json
from pathlib import Path

import pytest

from sparsewood.lab.data import Classify, Pairs, ReadOptions
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.read_options import LONG, TOO_LONG, listed
from sparsewood.lab.data.user_files import read_own

# A file of each form with two good rows and, between them, the lines 2 or 3 and on, a bad one.
BAD = {
    "plain.tsv": "x\ta b\nno column\ny\tc\n",
    "empty.tsv": "x\ta b\nz\t \ny\tc\n",
    "header.tsv": "label\ttext\nx\ta b\nz\ta\tb\ny\tc\n",
    "heads.tsv": "x\ta b\t0 1\nz\ta b\t2 1\ny\tc\t0\n",
    "table.csv": "label,text\nx,a b\nz\ny,c\n",
    "quotes.csv": 'label,text\nx,a b\nz,"a"b\ny,c\n',
    "lines.jsonl": '{"label": "x", "text": "a b"}\n{"label": \n{"label": "y", "text": "c"}\n',
    "keys.jsonl": '{"label": "x", "text": "a b"}\n{"text": "a"}\n{"label": "y", "text": "c"}\n',
}


def read(path: Path, how: ReadOptions) -> list[tuple[str, tuple[str, ...]]]:
    return [(e.label, e.sentences[0].words) for e in read_own(path, None, [None], how)]


@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_skipped_counted_and_listed(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(BAD[name])
    with pytest.raises(ValueError, match=rf"{name}:[23]: "):
        read(path, ReadOptions())
    with pytest.warns(UserWarning, match=rf"{name}: 1 of 3 rows skipped: .*{name}:[23]: ") as told:
        found = read(path, ReadOptions(skip_bad=True))
    assert found == [("x", ("a", "b")), ("y", ("c",))]
    assert len(told) == 1


def test_rows_that_are_no_text_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"x\ta b\nz\t\xff\nz\t\0\ny\tc\n")
    with pytest.warns(UserWarning, match="2 of 4 rows skipped: .*not UTF-8 text .*a NUL byte"):
        assert len(read(path, ReadOptions(skip_bad=True))) == 2


def test_sentences_of_conllu_are_skipped(tmp_path: Path) -> None:
    pytest.importorskip("conllu", reason="needs the extra [conllu]")
    row = "1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n"
    path = tmp_path / "a.conllu"
    path.write_text(f"# label = x\n{row}\n{row}\n# label = y\nnothing\n\n# label = z\n{row}\n")
    with pytest.warns(
        UserWarning, match=r"2 of 4 rows skipped: .*:4: .*:6: not a CoNLL-U sentence"
    ):
        assert [label for label, _ in read(path, ReadOptions(skip_bad=True))] == ["x", "z"]


def test_a_header_that_is_wrong_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("y,s\nx,a\n")
    with pytest.raises(ValueError, match="no column 'label'; the columns are y, s"):
        read(path, ReadOptions(skip_bad=True))


def test_nothing_but_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("x\ny\n")
    with pytest.raises(
        ValueError, match=r"no examples in this file; all 2 rows are bad: .*a.tsv:1"
    ):
        read(path, ReadOptions(skip_bad=True))


def test_many_bad_rows_are_not_all_listed() -> None:
    assert listed([f"{i}" for i in range(22)]).endswith("18; 19; and 2 more")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252", "utf-8"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
def test_encodings(encoding: str, name: str, tmp_path: Path) -> None:
    text = {
        "a.csv": "label,text\nx,été\n",
        "a.tsv": "x\tété\n",
        "a.jsonl": '{"label": "x", "text": "été"}\n',
    }[name]
    (tmp_path / name).write_bytes(text.encode(encoding))
    assert read(tmp_path / name, ReadOptions(encoding)) == [("x", ("été",))]


def test_a_wrong_encoding_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes("x\tétés\n".encode("latin-1"))
    with pytest.raises(ValueError, match="a.tsv:1: not UTF-8 text .*--encoding, latin-1"):
        read(tmp_path / "a.tsv", ReadOptions())
    with pytest.raises(ValueError, match="a.tsv: not utf-16 text"):
        read(tmp_path / "a.tsv", ReadOptions("utf-16"))
    with pytest.raises(ValueError, match="encoding: unknown encoding 'utf-9'"):
        ReadOptions("utf-9")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'label;text\nx;"a; b"\n'),
        ("a.txt", "x;a, b\n"),
        ("b.txt", "text;label\na, b;x\n"),
    ],
)
def test_delimiters(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    ((label, words),) = read(tmp_path / name, ReadOptions(delimiter=";"))
    assert (label, words[0], words[2]) == ("x", "a", "b")


@pytest.mark.parametrize("delimiter", ["", ";;", "\n", '"'])
def test_what_is_no_delimiter(delimiter: str) -> None:
    with pytest.raises(ValueError, match="delimiter: expected one character"):
        ReadOptions(delimiter=delimiter)


def examples(path: Path, **options: object) -> dict[str, list[Example]]:
    return Classify(str(path), str(path), **options).load().splits  # type: ignore[arg-type]


def test_sources_hand_the_options_on(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("label\ttext\nx\tété\nz\n".encode("latin-1"))
    with pytest.warns(UserWarning, match="1 of 2 rows skipped"):
        found = examples(path, delimiter="tab", encoding="latin-1", skip_bad=True)
    assert found["train"][0].sentences[0].words == ("été",)
    pairs = tmp_path / "p.txt"
    pairs.write_text("x;a;b\n")
    (pair,) = Pairs(str(pairs), str(pairs), delimiter=";").load().splits["train"]
    assert [s.words for s in pair.sentences] == [("a",), ("b",)]


@pytest.mark.parametrize("form", ["x\t{}\n", "x\t{}\t{heads}\n"])
def test_long_rows_are_named(tmp_path: Path, form: str) -> None:
    path = tmp_path / "a.tsv"
    heads = " ".join(map(str, range(5000)))
    long = form.format("a " * 5000, heads=heads)
    path.write_text(form.format("a", heads="0") + long)
    other = tmp_path / "b.tsv"
    other.write_text(form.format("a", heads="0"))
    with pytest.warns(UserWarning, match=r"a.tsv:2: 5,000 words: .*--max-length"):
        Classify(str(path), str(other)).load()
    # Left out of training it does no harm.
    found = Classify(str(path), str(other), max_length=LONG).load()
    assert (len(found.splits["train"]), found.left_out) == (1, 1)
    with pytest.warns(UserWarning, match=r"a.tsv:2: 5,000 words"):
        Classify(str(other), str(path), max_length=LONG).load()


def test_a_row_that_is_too_long_for_a_sentence_is_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "a.tsv", tmp_path / "b.tsv"
    path.write_text("x\ta\nx\t" + "a " * (TOO_LONG + 1))
    other.write_text("x\ta\n")
    message = "a.tsv:2: 50,001 words; expected a sentence of at most 50,000; .*--max-length"
    with pytest.raises(ValueError, match=message):
        Classify(str(path), str(other)).load()
    assert Classify(str(path), str(other), max_length=LONG).load().left_out == 1


@pytest.mark.parametrize("column", ["text", "label", "other"])
def test_half_of_a_character_is_named_with_its_line(tmp_path: Path, column: str) -> None:
    path = tmp_path / "a.jsonl"
    row = {"label": "x", "text": "a tree", "other": "\U0001f333"}  # which JSON writes as a pair
    path.write_text("\n".join(json.dumps(r) for r in (row, {**row, column: "a \ud83c tree"})))
    message = r"a.jsonl:2: expected characters, got \\ud83c, half of a surrogate pair"
    with pytest.raises(ValueError, match=message):
        examples(path)
    with pytest.warns(UserWarning, match=message):
        assert len(examples(path, skip_bad=True)["train"]) == 1
