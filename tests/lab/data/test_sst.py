from pathlib import Path

import pytest

from sparsewood.lab.data.sst import read_sst

TREES = """\
(3 (2 It) (4 works))
(2 (2 So) (2 (1 it) (2 goes)))

(0 (1 not) (3 good))
"""


def _read(folder: Path, text: str, **options: bool) -> list[tuple[str, str]]:
    path = folder / "train.txt"
    path.write_text(text, encoding="utf-8")
    return [(e.label, " ".join(e.sentences[0].words)) for e in read_sst(path, **options)]


def test_binary_sentences(tmp_path: Path) -> None:
    assert _read(tmp_path, TREES) == [("positive", "It works"), ("negative", "not good")]


def test_five_classes(tmp_path: Path) -> None:
    assert _read(tmp_path, TREES, fine=True) == [
        ("positive", "It works"),
        ("neutral", "So it goes"),
        ("very negative", "not good"),
    ]


def test_phrases(tmp_path: Path) -> None:
    assert _read(tmp_path, TREES, phrases=True) == [
        ("positive", "works"),
        ("positive", "It works"),
        ("negative", "it"),
        ("negative", "not"),
        ("positive", "good"),
        ("negative", "not good"),
    ]


def test_a_phrase_is_read_once_with_each_of_its_labels(tmp_path: Path) -> None:
    text = "(3 (2 so) (3 good))\n(1 (3 good) (1 (1 not) (3 good)))\n(3 (2 so) (3 good))\n(1 good)\n"
    phrases = _read(tmp_path, text, phrases=True)
    assert phrases == [
        ("positive", "good"),
        ("positive", "so good"),
        ("negative", "not"),
        ("negative", "not good"),
        ("negative", "good not good"),
        ("negative", "good"),
    ]
    assert _read(tmp_path, text).count(("positive", "so good")) == 2


def test_a_leaf_may_hold_a_no_break_space(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("(3 (2 2\u00a01\\/2) (3 hours))\n", encoding="utf-8")
    assert read_sst(path)[0].sentences[0].words == ("2\u00a01\\/2", "hours")


@pytest.mark.parametrize(
    "line",
    ["(3 (2 It) (4 works)", "(3 (2 It) (4 works)))", "(5 It)", "(3 )", "It works", "(3 a) (2 b)",
     "(", "()", "(3 (", ")", "(3 It) works"],
)  # fmt: skip
def test_a_line_that_is_no_tree_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(ValueError, match="train.txt:2: "):
        _read(tmp_path, f"(3 It)\n{line}\n")
