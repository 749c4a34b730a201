"""Files of word alignments: what is read, and what is refused."""

import re
from pathlib import Path

import pytest

from sparsewood.lab.data.alignments import read_alignments


def line(source: str, target: str, sure: str, possible: str = "") -> str:
    return "\t".join(["7:7", source, "N/A", target, "N/A", "1", "1", sure, possible, "", ""]) + "\n"


def test_links_of_both_kinds(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(line("a b c", "d e", "0-0 2-1", "1-1 2-1") + line("a", "b", ""))
    first, second = read_alignments(path)
    assert first.words == (("a", "b", "c"), ("d", "e"))
    assert first.sure == {(0, 0), (2, 1)}
    assert first.possible == {(1, 1)}  # a sure link is not a possible one too
    assert (second.sure, second.possible) == (frozenset(), frozenset())
    assert [s.words for s in first.example.sentences] == list(first.words)
    assert first.example.label == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a\tb\n", ":1: expected at least 9 columns separated by tabs, got 2"),
        (line("a", " ", ""), ":1: an empty sentence"),
        (line("a b", "c", "0-0") + line("a b", "c", "0:0"), ":2: links: expected pairs of numbers"),
        (line("a b", "c", "0-0", "1"), ":1: links: expected pairs"),
        (line("a b", "c", "0--0"), ":1: links: expected pairs"),
        (line("a b", "c", "0-1"), ":1: link 0-1: the sentences have 2 and 1 words"),
        (line("a b", "c", "2-0"), ":1: link 2-0: the sentences have 2 and 1 words"),
        ("", ": has no pairs of sentences"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path}{problem}')}"):
        read_alignments(path)
