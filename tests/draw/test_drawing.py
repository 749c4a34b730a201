from typing import get_args
from xml.etree import ElementTree

import pytest
import torch

import sparsewood as sp
from sparsewood.draw import Format, draw, show
from tests.choice import Choice


def posterior() -> sp.SparsePosterior:
    """Two sentences of 2 and 3 words."""
    scores = torch.tensor([2.0, 1.5, 1.0, 0.5]).expand(2, 3, 4).clone().requires_grad_()
    return sp.sparsemap(scores, sp.DependencyTrees(), lengths=torch.tensor([2, 3]))


@pytest.mark.parametrize("form", get_args(Format))
def test_every_format_draws(form: Format) -> None:
    picture = draw(["wood", "small"], [[0, 1], [2, 0]], [0.6, 0.4], [0, 1], form)
    assert picture.index("wood") < picture.index("small")


def test_unknown_format() -> None:
    with pytest.raises(ValueError, match="format: expected one of text, svg.*, got 'png'"):
        draw(["a"], [[0]], [1.0], None, "png")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("trees", "weights", "given", "message"),
    [
        ([[0, 1]], [0.5, 0.5], None, "expected a weight per tree, got 2 for 1"),
        ([[0, 1], [0]], [0.5, 0.5], None, "tree 1: expected 2 heads, one per word, got 1"),
        ([[0, 2]], [1.0], None, "tree 0: word 2 of 2 has head 2"),
        ([[0, 1]], [float("nan")], None, "tree 0: weight nan"),
        ([[0, 1]], [1.5], None, "tree 0: weight 1.5"),
        ([[0, 1]], [1.0], [0], "given heads: expected 2 heads, one per word, got 1"),
    ],
)
def test_bad_input(
    trees: list[list[int]], weights: list[float], given: list[int] | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        draw(["a", "b"], trees, weights, given)


def test_show() -> None:
    post = posterior()
    shown = show(post, ["small", "wood"], instance=0, given=[0, 0])
    assert "small" in repr(shown)
    assert "✓" in repr(shown)
    assert "wood" in shown._repr_html_()
    assert repr(show(post, instance=1)).splitlines()[-1].split() == ["1", "2", "3"]


def test_one_instance_shows_itself_in_notebooks() -> None:
    post = posterior()
    picture = post[0]._repr_html_()
    assert picture is not None
    texts = [text.text for text in ElementTree.fromstring(picture).iter() if "text" in text.tag]
    assert len(texts) == 2 * int(post.sizes[0])
    assert set(texts) == {"1", "2"}


def test_a_structure_of_your_own_shows_the_numbers_of_its_parts() -> None:
    post = sp.sparsemap(torch.tensor([[0.4, 0.1, 0.0]]), Choice())
    assert [row for row in repr(show(post)).splitlines() if row.startswith("parts")] == [
        "parts 0",
        "parts 1",
        "parts 2",
    ]
    assert "parts 0" in (post[0]._repr_html_() or "")


def test_thousands_of_structures_are_counted_not_shown() -> None:
    post = sp.sparsemap(torch.zeros(1, 100), sp.Simplex(), temperature=1.0)
    text = repr(show(post))
    assert text.startswith("100 choices, certified")
    assert text.endswith("and 68 more, together 68.0%")
    assert show(post).to("text").count("%") == 100


def test_a_drawing_has_no_other_format() -> None:
    with pytest.raises(ValueError, match="Drawing.to: format: expected one of text, svg"):
        show(posterior()).to("png")  # pyright: ignore[reportArgumentType]
