"""The drawing is read back: the spans traced through the characters are the spans given."""

import pytest
from rich.cells import cell_len

import sparsewood as sp
from sparsewood.draw._shapes import Line, Text
from sparsewood.draw._trees import checked_brackets
from sparsewood.draw.brackets import Brackets, Span


def every_tree(n: int, label: str = "") -> list[Brackets]:
    words = tuple("abcdefg"[:n])
    tables = sp.BinaryTrees().enumerate(n)
    spans = [[(i, j) for i, j in table.nonzero().tolist()] for table in tables]
    return [Brackets(words, dict.fromkeys(one, label), bool(label)) for one in spans]


def read_spans(rows: list[str], columns: list[int]) -> set[Span]:
    """Follow the lines from the top down to the words at `columns`."""
    spans: set[Span] = set()

    def walk(row: int, column: int) -> Span:
        while rows[row][column] == "│":
            row += 1
        if row == len(rows) - 1:
            span = (columns.index(column), columns.index(column))
        else:
            left, right = rows[row].rindex("╭", 0, column), rows[row].index("╮", column)
            span = (walk(row + 1, left)[0], walk(row + 1, right)[1])
        spans.add(span)
        return span

    walk(0, rows[0].index("╭") + 1 if "╭" in rows[0] else columns[0])
    return spans


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_every_span_can_be_read_back(n: int) -> None:
    trees = every_tree(n)
    assert len(trees) == sp.BinaryTrees().count(n)
    for tree in trees:
        rows = tree.text()
        columns = [column for column, c in enumerate(rows[-1]) if c != " "]
        assert read_spans(rows, columns) == set(tree.spans)


def test_labels_stand_on_their_lines() -> None:
    spans = {(0, 0): "D", (1, 1): "N", (2, 2): "V", (0, 1): "NP", (0, 2): "S"}
    assert Brackets(("the", "man", "saw"), spans, True).text() == [
        "   ╭───S───╮ ",
        " ╭─NP─╮    │ ",
        " D    N    V ",
        "the  man  saw",
    ]


@pytest.mark.parametrize("label", ["X", "a long label", "東京"])
def test_rows_have_equal_width_and_all_labels(label: str) -> None:
    for tree in every_tree(5, label):
        rows = tree.text()
        assert len({cell_len(row) for row in rows}) == 1
        assert sum(row.count(label) for row in rows) == 9


@pytest.mark.parametrize("label", ["", "a long label"])
def test_no_lines_cross_in_the_picture(label: str) -> None:
    for tree in every_tree(6, label):
        shapes = tree.panel().shapes
        lines = [shape.points for shape in shapes if isinstance(shape, Line)]
        assert len(lines) == 5
        bars = [(points[1], points[2]) for points in lines]
        legs = [pair for points in lines for pair in (points[:2], points[2:])]
        for (left, y), (right, _) in bars:
            for (x, one), (_, other) in legs:
                crosses = left + 1 < x < right - 1 and min(one, other) < y < max(one, other)
                assert not crosses
        labels = [shape for shape in shapes if isinstance(shape, Text) and shape.size == 12]
        assert len(labels) == (11 if label else 0)


def test_description_is_bracketed() -> None:
    spans = {(0, 0): "D", (1, 1): "N", (0, 1): "NP"}
    assert (
        Brackets(("the", "man"), spans, True).description() == "Binary tree: (NP (D the) (N man))"
    )
    plain = Brackets(("a", "b", "c"), dict.fromkeys([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2)], ""))
    assert plain.description() == "Binary tree: ((a b) c)"


def test_sixty_words_stay_low() -> None:
    n = 60
    spans = dict.fromkeys([(i, n - 1) for i in range(n)] + [(i, i) for i in range(n)], "")
    assert Brackets(("word",) * n, spans).panel().height < 330


def test_spans_from_a_file_are_checked():
    spans = [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2]]
    sheet = checked_brackets(["a", "b", "c"], [spans], [0.5])
    assert sheet.pictures[0].parts() == ["((a b) c)"]
    for wrong in (spans[:4], [*spans[:3], [1, 2], [0, 1]], [*spans, [1, 2]], [[0, 3], *spans[:4]]):
        with pytest.raises(ValueError, match="tree 0: expected the 5 spans of a binary tree of 3"):
            checked_brackets(["a", "b", "c"], [wrong], [0.5])
