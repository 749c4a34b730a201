"""The drawing is read back: the pairs in it are the pairs given."""

import re

import pytest

import sparsewood as sp
from sparsewood.draw._shapes import Line, Text
from sparsewood.draw.links import AlignmentPath, Pairing, Shipment, attention
from sparsewood.draw.svg import picture_file, picture_svg
from sparsewood.draw.tikz import panel_tikz

ROWS, COLUMNS = ("a", "b", "c"), ("x", "y", "z", "w")


def read_steps(picture: AlignmentPath) -> list[tuple[int, int]]:
    """The pairs of an alignment, read from its columns of characters."""
    above, links, below = picture.text()
    pairs = []
    row = column = ""
    for i in range(0, len(above), 3):
        row = row if above[i] == "″" else above[i]
        column = column if below[i] == "″" else below[i]
        assert (links[i] == "│") == ("–" not in (row, column))
        if links[i] == "│":
            pairs.append((ROWS.index(row), COLUMNS.index(column)))
    return pairs


@pytest.mark.parametrize("gaps", [False, True])
def test_every_alignment_can_be_read_back(gaps: bool) -> None:
    for cells in sp.Alignment(gaps=gaps).enumerate(3, 4):
        pairs = tuple((i, j) for i, j in cells.nonzero().tolist())
        picture = AlignmentPath(ROWS, COLUMNS, pairs)
        assert read_steps(picture) == list(pairs)
        assert all("".join(picture.text()).count(name) == 1 for name in (*ROWS, *COLUMNS))


def test_every_matching_can_be_read_back() -> None:
    for matching in sp.Matching(partial=True).enumerate(3, 4).tolist():
        pairs = tuple((i, j) for i, j in enumerate(matching) if j >= 0)
        lines = Pairing(ROWS, COLUMNS, pairs).text()
        read = [line.split(" ── ") for line in lines if "──" in line]
        assert [(ROWS.index(a), COLUMNS.index(b)) for a, b in read] == list(pairs)
        alone = {line.strip() for line in lines if "──" not in line}
        free = {COLUMNS[j] for j in range(4) if j not in matching}
        assert alone == free | {ROWS[i] for i in range(3) if matching[i] < 0}


def test_every_transport_can_be_read_back() -> None:
    for table in sp.Transport(2, 2, row_least=0, column_least=0, pair_capacity=2).enumerate(3, 4):
        pairs = tuple((i, j) for i, j in table.nonzero().tolist())
        times = tuple(int(table[pair]) for pair in pairs)
        read = [[0] * 4 for _ in ROWS]
        alone = set()
        for line in Shipment(ROWS, COLUMNS, pairs, times).text():
            row, _, partners = line.partition(" ── ")
            if not partners:
                alone.add(row.strip())
            for name in partners.split(", ") if partners else ():
                column, _, count = name.partition(" ×")
                read[ROWS.index(row)][COLUMNS.index(column)] = int(count or 1)
        assert read == table.tolist()
        free = {COLUMNS[j] for j in range(4) if table[:, j].sum() == 0}
        assert alone == free | {ROWS[i] for i in range(3) if table[i].sum() == 0}


def test_a_pair_that_is_used_often_is_dark() -> None:
    picture = Shipment(ROWS, COLUMNS, ((0, 2), (2, 0)), (1, 4))
    lines = [shape for shape in picture.panel().shapes if isinstance(shape, Line)]
    assert [(line.title, line.share) for line in lines] == [("a – z", 0.25), ("c – x ×4", 1.0)]


def test_lines_join_their_words_and_the_rest_is_faint() -> None:
    shapes = Pairing(ROWS, COLUMNS, ((0, 2), (2, 0))).panel().shapes
    texts = {shape.text: shape for shape in shapes if isinstance(shape, Text)}
    ends = [shape.points for shape in shapes if isinstance(shape, Line)]
    for (above, below), (a, b) in zip(ends, [("a", "z"), ("c", "x")], strict=True):
        assert (above[0], below[0]) == (texts[a].x, texts[b].x)
        assert texts[a].y < above[1] < below[1] < texts[b].y
    assert {name for name, shape in texts.items() if shape.kind == "faint"} == {"b", "y", "w"}


def test_description() -> None:
    assert Pairing(ROWS, COLUMNS, ((0, 2),)).description() == "Matching: a – z"
    assert AlignmentPath(ROWS, COLUMNS, ()).description() == "Alignment: nothing"


def test_attention_is_as_dark_as_it_is_strong() -> None:
    picture = attention(["a", "<b>"], ["x", "y"], [(1, 0, 0.25), (0, 1, 1.0), (1, 1, 0.75)])
    assert picture.text() == ["a   ── y 100.0%", "<b> ── y 75.0%, x 25.0%"]
    assert picture.parts() == ["a – y 100.0%", "<b> – x 25.0%", "<b> – y 75.0%"]
    lines = [shape for shape in picture.panel().shapes if isinstance(shape, Line)]
    assert [line.share for line in lines] == [1.0, 0.25, 0.75]
    for drawn in (picture_svg(picture), picture_file(picture)):
        assert re.findall(r'opacity="([\d.]+)"', drawn) == ["0.25", "0.75"]
        assert "<b>" not in drawn
    assert panel_tikz(picture.panel()).count("opacity=0.75") == 1


@pytest.mark.parametrize("link", [(2, 0, 0.5), (0, -1, 0.5), (0, 0, 1.5)])
def test_attention_that_cannot_be(link: tuple[int, int, float]) -> None:
    with pytest.raises(ValueError, match="expected a row below 2, a column below 1 and a weight"):
        attention(["a", "b"], ["x"], [link])
