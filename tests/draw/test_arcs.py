"""Labelled arcs: each label is on its own arc, and no line runs through it."""

import re

import pytest
import torch

import sparsewood as sp
from sparsewood.draw._markup import text_width
from sparsewood.draw._shapes import Line, Text
from sparsewood.draw.arcs import Arcs, checked_heads

WORDS = ("She", "saw", "the", "man")
LABELS = ("nsubj", "root", "det", "obj")


def test_labels_stand_below_the_words_in_text() -> None:
    tree = Arcs(WORDS, (2, 0, 4, 2), LABELS, (2, 0, 4, 2), ("nsubj", "root", "det", "iobj"))
    assert tree.text() == [
        "       ROOT           ",
        "        │╭─────────╮  ",
        "  ╭────╮││    ╭───╮│  ",
        "  ▼    │▼│    ▼   │▼  ",
        " She   saw   the  man ",
        "nsubj  root  det  obj ",
        "  ✓     ✓     ✓    ✗  ",
    ]
    assert tree.note == "3 of 4 as given"


def labels_and_legs(tree: Arcs) -> tuple[list[Text], list[tuple[float, float, float]]]:
    """The labels of a picture, and each vertical line as x, top and bottom."""
    shapes = tree.panel().shapes
    legs = []
    for line in (shape for shape in shapes if isinstance(shape, Line)):
        for a, b in ((line.points[0], line.points[1]), (line.points[-2], line.points[-1])):
            legs.append((a[0], min(a[1], b[1]), max(a[1], b[1])))
    labels = [shape for shape in shapes if isinstance(shape, Text) and shape.size == 12]
    return labels, legs


def run_through(tree: Arcs) -> int:
    """How many vertical lines run through a label."""
    labels, legs = labels_and_legs(tree)
    return sum(
        abs(x - text.x) < text_width(text.text, 12) / 2 and top < text.y - 1 and bottom > text.y - 8
        for text in labels
        for x, top, bottom in legs
    )


@pytest.mark.parametrize("label", ["x", "a very long label"])
def test_no_line_runs_through_a_label(label: str) -> None:
    words = ("I", "saw", "a", "very", "telescopic")
    for heads in sp.DependencyTrees(projective=True).enumerate(5).tolist():
        tree = Arcs(words, tuple(heads), (label,) * 5)
        assert len(labels_and_legs(tree)[0]) == 5
        assert run_through(tree) == 0


def test_labels_move_beside_crossing_lines() -> None:
    scores = torch.randn(40, 7, 8, generator=torch.Generator().manual_seed(0))
    words = tuple("one two three four five six seven".split())
    for heads in sp.map(scores, sp.DependencyTrees()).structures.tolist():
        assert run_through(Arcs(words, tuple(heads), ("dep",) * 7)) == 0


def test_labels_in_latex() -> None:
    text = Arcs(WORDS, (2, 0, 4, 2), ("nsubj", "root", "d&t", "obj")).tikz()
    assert text.startswith("\\begin{dependency}\n")
    names = re.findall(r"\\dep(?:edge|root)\[.*\]\{.*\}\{(.*)\}", text)
    assert names == ["nsubj", "root", r"d\symbol{38}t", "obj"]


def test_description_names_the_labels() -> None:
    tree = Arcs(("a", "b"), (2, 0), ("x", "y"))
    assert tree.description() == "Dependency tree: b → a (x), root → b (y)"


def test_words_without_a_given_head_are_not_compared() -> None:
    words, heads = ("[MAX", "2", "[MIN", "7", "]", "]"), (0, 1, 1, 3, 1, 1)
    right, wrong = (
        Arcs(words, heads, given=(0, 1, 1, 3, -1, -1)),
        Arcs(words, heads, given=(0, 3, 1, 3, -1, -1)),
    )
    assert right.agrees == [True] * 4 + [None] * 2
    assert right.note == "✓ as given"
    assert wrong.note == "3 of 4 as given"
    assert right.text()[-1].split() == ["✓"] * 4
    assert Arcs(words, heads, given=(-1,) * 6).note == ""


def test_only_given_heads_may_be_unknown() -> None:
    assert checked_heads([0, -1], 2, "given heads", unknown=True) == (0, -1)
    with pytest.raises(ValueError, match="tree 0: word 2 of 2 has head -1"):
        checked_heads([0, -1], 2, "tree 0")
