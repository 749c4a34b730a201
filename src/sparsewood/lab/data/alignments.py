"""Pairs of sentences whose words people have aligned, in the format of MultiMWA."""

from dataclasses import dataclass
from pathlib import Path

from sparsewood.lab.data._lines import fault, full_lines
from sparsewood.lab.data.examples import Example, Sentence

Links = frozenset[tuple[int, int]]
"""Links (i, j) of word i of the first sentence and word j of the second, counted from 0."""

_COLUMNS = 9  # identifier, source, -, target, -, two counts, sure links, possible links


@dataclass(frozen=True)
class AlignedPair:
    """Two sentences and the links between their words.

    Attributes:
        words: the words of both.
        sure: the links that annotators are sure of.
        possible: links that they regard as possible, without those in `sure`.
    """

    words: tuple[tuple[str, ...], tuple[str, ...]]
    sure: Links
    possible: Links

    @property
    def example(self) -> Example:
        """The pair as an example without a label."""
        return Example(tuple(map(Sentence, self.words)))


def read_alignments(path: Path) -> list[AlignedPair]:
    """The pairs of a file of MultiMWA (Lan, Jiang & Xu 2021, "Neural semi-Markov CRF for
    monolingual word alignment").

    A line has tab-separated columns: an identifier, the words of the source, an unread column, the
    words of the target, three unread columns, sure links "i-j" separated by spaces, and possible
    links. Words are separated by spaces.

    Raises:
        ValueError: if the file cannot be read or is empty, or at the first line of another form.
    """
    pairs: list[AlignedPair] = []
    for number, line in full_lines(path):
        columns = line.split("\t")
        if len(columns) < _COLUMNS:
            told = f"expected at least {_COLUMNS} columns separated by tabs, got {len(columns)}"
            fault(path, number, f"{told}; the eighth has sure links, the ninth possible ones")
        words = tuple(columns[1].split()), tuple(columns[3].split())
        if not all(words):
            fault(path, number, "an empty sentence")
        sizes = len(words[0]), len(words[1])
        sure, possible = (_links(text, sizes, path, number) for text in columns[7:9])
        pairs.append(AlignedPair(words, sure, possible - sure))
    if not pairs:
        raise ValueError(f"{path}: has no pairs of sentences")
    return pairs


def _links(text: str, sizes: tuple[int, int], path: Path, line: int) -> Links:
    found: set[tuple[int, int]] = set()
    for link in text.split():
        ends = link.split("-")
        if len(ends) != 2 or not all(end.isdecimal() for end in ends):
            fault(path, line, "links: expected pairs of numbers such as 0-3, separated by spaces")
        i, j = map(int, ends)
        if i >= sizes[0] or j >= sizes[1]:
            fault(path, line, f"link {link}: the sentences have {sizes[0]} and {sizes[1]} words")
        found.add((i, j))
    return frozenset(found)
