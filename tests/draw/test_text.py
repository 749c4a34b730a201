"""The drawing is read back: the arcs traced through the characters are the arcs given."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from sparsewood import DependencyTrees, SparsePosterior, sparsemap
from sparsewood.draw import posterior_text, tree_text

TELESCOPE = "She saw the man with the telescope".split()


def rows_of(drawing: str) -> list[str]:
    return drawing.split("\n")


def read_heads(drawing: str, n: int) -> list[int]:
    """Follows every line of a drawing of n words of at most three columns; returns the heads."""
    *rows, _ = rows_of(drawing)
    feet = rows[-1]

    def climb(column: int) -> int:
        row = len(rows) - 1
        while rows[row][column] in "│┼▼":
            row -= 1
        return row

    def far_end(row: int, column: int, step: int, corner: str) -> int:
        while rows[row][column] != corner:
            column += step
            assert rows[row][column] in "─┼┬" + corner
        return column

    heads = []
    for word in range(n):
        column = 5 * word + 1
        assert feet[column] == "▼"
        row = climb(column)
        if row == 0:
            heads.append(0)
            continue
        assert rows[row][column] in "╭╮┬"
        ends = (far_end(row, column, -1, "╭"), far_end(row, column, 1, "╮"))
        legs = [end for end in ends if feet[end] == "│"]
        assert len(legs) == 1
        assert climb(legs[0]) == row
        heads.append(legs[0] // 5 + 1)
    return heads


@st.composite
def arcs(draw: st.DrawFn, max_words: int = 12) -> list[int]:
    """Any head for any word except itself: trees, and graphs that are harder to draw."""
    n = draw(st.integers(1, max_words))
    heads = st.integers(0, n)
    return [draw(heads.filter(lambda head, word=i: head != word)) for i in range(1, n + 1)]


@given(arcs())
def test_every_arc_can_be_read_back(heads: list[int]) -> None:
    assert read_heads(tree_text(heads, ["abc"] * len(heads)), len(heads)) == heads


@given(arcs(max_words=5), st.data())
def test_rows_have_equal_width(heads: list[int], data: st.DataObject) -> None:
    word = st.text(st.sampled_from("ab é東京\u0301\u200c\u200d👩\n\t"), max_size=8)
    words = data.draw(st.lists(word, min_size=len(heads), max_size=len(heads)))
    assert len({cell_len(row) for row in rows_of(tree_text(heads, words))}) == 1


def test_projective_tree() -> None:
    assert rows_of(tree_text([2, 0, 4, 2, 4, 7, 5], TELESCOPE)) == [
        "     ROOT                               ",
        "      │╭────────╮     ╭────────────╮    ",
        " ╭───╮││   ╭───╮│╭───╮│    ╭──────╮│    ",
        " ▼   │▼│   ▼   │▼│   ▼│    ▼      │▼    ",
        "She  saw  the  man  with  the  telescope",
    ]


def test_crossing_arcs_meet_in_a_cross() -> None:
    assert rows_of(tree_text([3, 4, 0, 0], ["abc"] * 4)) == [
        "          ROOT ROOT",
        "      ╭────┼───╮│  ",
        " ╭────┼───╮│   ││  ",
        " ▼    ▼   │▼   │▼  ",
        "abc  abc  abc  abc ",
    ]


def test_one_word() -> None:
    assert rows_of(tree_text([0], ["I"])) == ["ROOT", " ▼  ", " I  "]


def test_no_words() -> None:
    assert tree_text([], []) == ""


def test_sixty_words_stay_low() -> None:
    star = [0] + [1] * 59
    chain = list(range(60))
    for heads in (star, chain):
        rows = rows_of(tree_text(heads, ["abc"] * 60))
        assert len(rows) == 4
        assert read_heads("\n".join(rows), 60) == heads


def test_tensor_and_padding() -> None:
    assert tree_text(torch.tensor([2, 0, -1, -1]), ["a", "b"]) == tree_text([2, 0], ["a", "b"])


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([0], "expected 2 heads, one per word, got 1"),
        ([0, 1, 1], "expected 2 heads, one per word, got 3"),
        ([0, 3], "word 2 of 2 has head 3"),
        ([0, 2], "word 2 of 2 has head 2"),
        ([0, -1], "word 2 of 2 has head -1"),
    ],
)
def test_bad_heads(heads: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tree_text(heads, ["a", "b"])


def test_posterior_text_ranks_and_counts_the_rest() -> None:
    post = SparsePosterior(
        structure=DependencyTrees(),
        structures=torch.tensor([[0, 1], [2, 0], [0, 0], [0, 1]]),
        weights=torch.tensor([1.0, 0.25, 0.125, 0.625]),
        sizes=torch.tensor([1, 3]),
        shape=(2, 3),
        gap=torch.zeros(2, dtype=torch.float64),
        status=torch.zeros(2, dtype=torch.int64),
        calls=torch.ones(2, dtype=torch.int64),
        canonical=torch.zeros(2, dtype=torch.bool),
        temperature=torch.ones(2, dtype=torch.float64),
    )
    text = posterior_text(post, ["a", "b"], instance=1, k=1)
    caption, empty, first, *tree, blank, rest = rows_of(text)
    assert (caption, empty) == ("3 trees, certified", "")
    assert first.split()[0] == "62.5%"
    assert "\n".join(tree) == tree_text([0, 1], ["a", "b"])
    assert blank == ""
    assert rest == "and 2 more, together 37.5%"
    assert posterior_text(post, ["a", "b"], instance=1).count("ROOT") == 4


def test_agreement_is_marked_below_the_words() -> None:
    rows = rows_of(tree_text([2, 0, 4, 2], TELESCOPE[:4], given=[2, 0, 2, 2]))
    assert rows[-2:] == ["She  saw  the  man ", " ✓    ✓    ✗    ✓  "]


def test_posterior_text_counts_the_agreement() -> None:
    post = sparsemap(torch.tensor([[[5.0, 0.0, 0.0], [0.0, 5.0, 0.0]]]), DependencyTrees())
    assert rows_of(posterior_text(post, ["a", "b"], given=[0, 1]))[2].endswith("✓ as given")
    assert rows_of(posterior_text(post, ["a", "b"], given=[0, 0]))[2].endswith("1 of 2 as given")
