from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsewood.lab.data._lines import given_heads, json_lines, numbered_lines, tree_problem


@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.integers(0, n), min_size=n, max_size=n)))
def test_in_a_tree_every_word_reaches_the_root(heads: list[int]) -> None:
    nodes = list(range(len(heads) + 1))
    for _ in heads:
        nodes = [0 if node == 0 else heads[node - 1] for node in nodes]
    assert (tree_problem(heads, len(heads)) is None) == (max(nodes) == 0)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ("2", "expected 2, one for each word, got 1"),
        ("0 3", "word 2: expected 0 to 2, got 3"),
        ("0 -1", "word 2: expected 0 to 2, got -1"),
        ("2 1", "cycle"),
        ("0 x", "expected integers"),
    ],
)
def test_heads_that_are_no_tree_are_named(heads: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^f.tsv:7: heads: .*{message}"):
        given_heads(["a", "b"], heads, "f.tsv", 7)


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes("\ufeffa\u2028b\x85\r\nc".encode())
    assert list(numbered_lines(path)) == [(1, "a\u2028b\x85"), (2, "c")]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="absent.txt: cannot be read"):
        list(numbered_lines(tmp_path / "absent.txt"))


@pytest.mark.parametrize("line", ["{", "[1]", "[" * 100_000], ids=["cut", "list", "nested"])
def test_json_lines_name_the_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text(f'{{"a": 1}}\n\n{line}\n')
    with pytest.raises(ValueError, match="f.jsonl:3: expected a JSON object"):
        list(json_lines(path))


def test_a_line_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(b"one\n" * 5000 + "caf\xe9\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"f.txt:5001: not UTF-8 text \(.* at byte 4\)"):
        list(numbered_lines(path))
    path.write_bytes("one\n".encode("utf-16-le"))
    with pytest.raises(ValueError, match=r"f.txt:1: not UTF-8 text \(a NUL byte\)"):
        list(numbered_lines(path))
