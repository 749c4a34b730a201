import pytest

from sparsewood.draw._shapes import Box, Line
from sparsewood.draw.tags import Tags


def test_each_tag_stands_over_its_word() -> None:
    tags = Tags(("She", "saw", "東京"), ("PRON", "V", "N"), ("PRON", "V", "V"))
    assert tags.text() == [
        "PRON   V    N  ",
        "She   saw  東京",
        " ✓     ✓    ✗  ",
    ]
    assert tags.note == "2 of 3 as given"
    assert tags.description(0.5) == "Tagging with probability 50.0%: She PRON, saw V, 東京 N"


def test_boxes_in_a_chain() -> None:
    shapes = Tags(("a", "b", "c"), ("X", "Y", "X"), ("X", "X", "X")).panel().shapes
    assert [box.kind for box in shapes if isinstance(box, Box)] == ["agree", "differ", "agree"]
    boxes = [box for box in shapes if isinstance(box, Box)]
    lines = [line for line in shapes if isinstance(line, Line)]
    for line, before, after in zip(lines, boxes, boxes[1:], strict=False):
        assert [x for x, _ in line.points] == pytest.approx([before.x + before.width, after.x])
