"""The drawing is read back: the words under each brace are the words of the segment."""

import re

import pytest

import sparsewood as sp
from sparsewood.draw._shapes import Line, Text
from sparsewood.draw.segments import Segment, Segments


def segmentation(rows: list[list[int]], labels: list[str]) -> tuple[Segment, ...]:
    found = [(t, length, label) for t, (length, label) in enumerate(rows) if length]
    return tuple(Segment(t, t + length - 1, labels[label]) for t, length, label in found)


@pytest.mark.parametrize("labels", [["X", "Y"], ["longer", "a label of words"]])
def test_every_segment_can_be_read_back(labels: list[str]) -> None:
    words = ("a", "bb", "ccc", "d")
    for rows in sp.SemiMarkov(3).enumerate(4, 2).tolist():
        segments = segmentation(rows, labels)
        braces, below = Segments(words, segments).text()
        assert len(braces) == len(below)
        read = []
        for brace in re.finditer("╭([^╮]*)╮", braces):
            inside = below[brace.start() : brace.end()].split()
            first, last = words.index(inside[0]), words.index(inside[-1])
            read.append(Segment(first, last, brace[1].strip("─ ")))
        assert tuple(read) == segments


def test_a_brace_covers_its_words_in_the_picture() -> None:
    for rows in sp.SemiMarkov(3).enumerate(4, 2).tolist():
        segments = segmentation(rows, ["X", "a label of words"])
        shapes = Segments(("a", "bb", "ccc", "d"), segments).panel().shapes
        braces = [line.points for line in shapes if isinstance(line, Line)]
        words = [shape for shape in shapes if isinstance(shape, Text) and shape.size == 15]
        for brace, segment in zip(braces, segments, strict=True):
            inside = [word.text for word in words if brace[0][0] < word.x < brace[-1][0]]
            assert inside == ["a", "bb", "ccc", "d"][segment.first : segment.last + 1]


def test_description() -> None:
    picture = Segments(("New", "York", "sleeps"), (Segment(0, 1, "PLACE"), Segment(2, 2, "O")))
    assert picture.description() == "Segmentation: [New York] PLACE, [sleeps] O"
