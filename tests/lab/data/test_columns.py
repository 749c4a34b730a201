from pathlib import Path

import pytest

from sparsewood.lab.data.columns import header_of, read_columns, read_plain
from sparsewood.lab.data.read_options import ReadOptions
from sparsewood.lab.data.user_files import read_own


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _texts(path: Path, label: str, *texts: str) -> list[tuple[str, ...]]:
    return [
        (e.label, *(" ".join(s.words) for s in e.sentences))
        for e in read_columns(path, label, texts)
    ]


def test_label_and_text(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.tsv", "good\tIt's fine.\r\n\nbad\tNo\n")
    read = [(e.label, " ".join(e.sentences[0].words)) for e in read_plain(path)]
    assert read == [("good", "It 's fine ."), ("bad", "No")]


@pytest.mark.parametrize(
    ("line", "texts", "message"),
    [
        ("x", 1, "label and text separated by a tab; found one column .a space. --delimiter space"),
        ("x\ta\tb", 1, "found 3 columns"),
        ("x\ta", 2, "expected label and 2 texts separated by a tab; found 2 columns"),
        ("x\t ", 1, "an empty sentence"),
        ("\ta", 1, "an empty label"),
    ],
)
def test_a_wrong_plain_line_is_named(tmp_path: Path, line: str, texts: int, message: str) -> None:
    first = "\t".join(["x", *"ab"[:texts]])
    path = _write(tmp_path / "a.tsv", f"{first}\n{line}\n")
    with pytest.raises(ValueError, match=f"a.tsv:2: .*{message}"):
        read_plain(path, texts)


def test_csv_with_quotes_and_line_breaks(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.csv", 'id,body,y\n1,"So, ""it""\nends",no\n\n2,b,yes\n')
    assert header_of(path) == ["id", "body", "y"]
    assert _texts(path, "y", "body") == [("no", 'So , " it " ends'), ("yes", "b")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"y": null, "s": "a"}', "an empty label"),
        ('{"y": 1, "s": ["a", "b"]}', "s: expected a text, got list"),
    ],
)
def test_json_holds_texts(tmp_path: Path, row: str, message: str) -> None:
    path = _write(tmp_path / "a.jsonl", f"{row}\n")
    with pytest.raises(ValueError, match=f"a.jsonl:1: {message}"):
        read_columns(path, "y", ["s"])


def test_tabs_keep_quotes(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.tsv", 'y\ts1\ts2\nno\t"a\tb\n')
    assert _texts(path, "y", "s1", "s2") == [("no", '" a', "b")]


def test_json_lines(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.jsonl", '{"y": 1, "s": "a b", "more": null}\n')
    assert _texts(path, "y", "s") == [("1", "a b")]
    with pytest.raises(ValueError, match="a.jsonl:1: no column 't'; the columns are y, s, more"):
        read_columns(path, "y", ["t"])


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_columns_that_are_not_there(tmp_path: Path, suffix: str) -> None:
    tab = "," if suffix == "csv" else "\t"
    path = _write(tmp_path / f"a.{suffix}", f"one{tab}two\n1{tab}2\n3\n")
    with pytest.raises(ValueError, match="no column 'label'; the columns are one, two"):
        read_columns(path, "label", ["one"])
    with pytest.raises(ValueError, match=f"a.{suffix}:3: expected 2 columns .*, got 1"):
        read_columns(path, "one", ["two"])


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected a header"):
        read_columns(_write(tmp_path / "empty.csv", ""), "a", ["b"])
    with pytest.raises(ValueError, match="open.csv:2: not readable as CSV"):
        read_columns(_write(tmp_path / "open.csv", 'a,b\n1,"2\n'), "a", ["b"])
    with pytest.raises(ValueError, match="absent.csv: cannot be read"):
        read_columns(tmp_path / "absent.csv", "a", ["b"])


def test_a_column_is_there_once(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.csv", "y,s,s\nno,a,b\n")
    with pytest.raises(ValueError, match="a.csv: the column 's' occurs 2 times"):
        read_columns(path, "y", ["s"])


def test_csv_of_other_systems(tmp_path: Path) -> None:
    path = tmp_path / "A.CSV"
    path.write_bytes('\ufeffy,s\r\nno,"a\r\nb\tc"\r\n'.encode())
    assert _texts(path, "y", "s") == [("no", "a b c")]


@pytest.mark.parametrize(
    ("line", "delimiter", "expected"),
    [
        (
            "NUM:count How many oaks are there ?",
            "space",
            ("NUM:count", "How many oaks are there ?"),
        ),
        ("0 dull , far  too long", " ", ("0", "dull , far too long")),
        ("no,dull, far too long", ",", ("no", "dull , far too long")),
        ("no\tdull", "tab", ("no", "dull")),
    ],
)
def test_the_first_delimiter_ends_the_label(
    tmp_path: Path, line: str, delimiter: str, expected: tuple[str, str]
) -> None:
    path = _write(tmp_path / "a.txt", f"{line}\n")
    (read,) = read_plain(path, how=ReadOptions(delimiter=delimiter))
    assert (read.label, " ".join(read.sentences[0].words)) == expected


def test_what_is_no_label_and_text_between_spaces(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.txt", "0 one\n1\n")
    with pytest.raises(ValueError, match="a.txt:2: expected label and text separated by ' '; fou"):
        read_plain(path, how=ReadOptions(delimiter=" "))
    path = _write(tmp_path / "p.txt", "0;one;two;three\n")
    with pytest.raises(ValueError, match="expected label and 2 texts separated by ';'; found 4 c"):
        read_plain(path, 2, ReadOptions(delimiter=";"))


def test_a_sentence_with_the_names_of_columns_is_no_header(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.txt", "0 the text is no label\n1 no\n")
    assert len(read_own(path, None, (None,), ReadOptions(delimiter=" "))) == 2
    path = _write(tmp_path / "b.txt", "label text\n1 no\n")
    assert [e.label for e in read_own(path, None, (None,), ReadOptions(delimiter=" "))] == ["1"]
