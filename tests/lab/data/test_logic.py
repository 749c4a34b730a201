"""Logical inference: gold trees from brackets, splits by operators, lines that are refused."""

import os
import re
from pathlib import Path

import pytest

from sparsewood.lab.data.logic import OPERATORS, heads, read_logic

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
PUBLIC = Path(os.environ.get("SPARSEWOOD_DATA", BESIDE)) / "logic"

LINES = ("=\ta\ta", ">\t( not b )\tc", "#\t( a ( and b ) )\t( not c )")


def write(folder: Path) -> Path:
    for n, line in enumerate(LINES):
        (folder / f"train{n}").write_text(f"{line}\n" * 10)
        (folder / f"test{n}").write_text(f"{line}\n\n")
    return folder


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", [0]),
        ("( not a )", [2, 0, 2, 2]),
        ("( a ( and b ) )", [4, 4, 4, 0, 4, 4, 4]),
        ("( ( not a ) ( or b ) )", [7, 3, 7, 3, 3, 7, 0, 7, 7, 7]),
        ("( not ( a ( or b ) ) )", [2, 0, 6, 6, 6, 2, 6, 6, 6, 2]),
    ],
)
def test_an_operator_heads_its_arguments_and_the_brackets_around_them(
    text: str, tree: list[int]
) -> None:
    assert heads(text.split()) == tuple(tree)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "word 1: expected a letter a to f or '(', got 'the end'"),
        ("g", "word 1: expected a letter a to f or '(', got 'g'"),
        ("a b", "word 2: expected the end of the expression, got 'b'"),
        ("( not a", "word 4: expected ')', got 'the end'"),
        ("( a ( not b ) )", "word 4: expected 'and' or 'or', got 'not'"),
        ("( and b )", "word 2: expected a letter a to f or '(', got 'and'"),
        ("( a ( and b )", "word 7: expected ')', got 'the end'"),
    ],
)
def test_what_is_no_expression_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        heads(text.split())


def test_splits_by_operators(tmp_path: Path) -> None:
    splits = read_logic(write(tmp_path), max_operators=1)
    assert {name: len(split) for name, split in splits.items()} == {
        "train": 18,
        "validation": 2,
        "2": 1,
    }
    (example,) = splits["2"]
    assert example.label == "#"
    assert [" ".join(s.words) for s in example.sentences] == ["( a ( and b ) )", "( not c )"]
    assert example.sentences[1].scored == (False, True, True, False)
    chosen = read_logic(tmp_path, max_operators=2, tests=(2, 0), seed=3)
    assert list(chosen) == ["train", "validation", "2", "0"]


def test_held_out_by_the_seed(tmp_path: Path) -> None:
    lines = [f"=\t{a}\t{b}\n" for a in "abcdef" for b in "abcdef"]
    (tmp_path / "train0").write_text("".join(lines))
    (tmp_path / "test1").write_text(LINES[1])
    first, again, other = (read_logic(tmp_path, max_operators=0, seed=s) for s in (0, 0, 1))
    assert first == again
    assert first["validation"] != other["validation"]
    assert not {*first["train"]} & {*first["validation"]}


def test_missing_files_and_wrong_lines_are_named(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(ValueError, match="no file train3, test9$"):
        read_logic(tmp_path, max_operators=3, tests=(1, 9))
    with pytest.raises(ValueError, match="no test of more than 2 operators; name --tests"):
        read_logic(tmp_path, max_operators=2)
    for line, message in (
        ("=\ta", "found 2 columns"),
        ("?\ta\ta", "expected a relation among = < >"),
        ("=\ta\t( a )", r"test1:2: word 3: expected '\(', got '\)'"),
    ):
        (tmp_path / "test1").write_text(f"=\ta\ta\n{line}\n")
        with pytest.raises(ValueError, match=message):
            read_logic(tmp_path, max_operators=0, tests=(1,))


@pytest.mark.full
def test_the_public_files() -> None:
    if not PUBLIC.is_dir():
        pytest.skip(f"no folder {PUBLIC}")
    splits = read_logic(PUBLIC)
    assert len(splits["train"]) + len(splits["validation"]) == 135_529
    assert len(splits["validation"]) == 13_552
    assert {"7": 4707, "8": 3347, "9": 2230, "10": 1444}.items() <= {
        name: len(split) for name, split in splits.items()
    }.items()
    for name in ("7", "8", "9", "10"):
        for example in splits[name]:
            operators = [sum(w in OPERATORS for w in s.words) for s in example.sentences]
            assert max(operators) == int(name)
