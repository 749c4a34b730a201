"""One call for every way of drawing the trees of a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sparsewood.draw._trees import Drawable, Heads, checked
from sparsewood.draw.conllu import trees_conllu
from sparsewood.draw.html import page_html, table_html, trees_html
from sparsewood.draw.svg import trees_svg
from sparsewood.draw.text import trees_text
from sparsewood.draw.tikz import trees_tikz
from sparsewood.structures.dependency import DependencyTrees

if TYPE_CHECKING:
    from sparsewood.posterior import SparsePosterior

Format = Literal["text", "svg", "html", "tikz", "conllu"]

_WRITERS: dict[str, Callable[[Drawable], str]] = {
    "text": trees_text,
    "svg": trees_svg,
    "html": page_html,
    "tikz": trees_tikz,
    "conllu": trees_conllu,
}


def draw(
    words: Sequence[str],
    trees: Iterable[Heads],
    weights: Iterable[float],
    given: Heads | None = None,
    format: Format = "text",  # noqa: A002
) -> str:
    """Draws the trees of one sentence, the most probable first.

    Args:
        words: the n words.
        trees: the heads (n,) of each tree: 0 for the root, j for word j (counted from 1).
        weights: the probability of each tree.
        given: (n,) heads to compare with, a parser's for example.
        format: "text" for the terminal, "svg", "html" (a page of its own), "tikz" (for the LaTeX
            package tikz-dependency) or "conllu".
    """
    if format not in _WRITERS:
        raise ValueError(f"draw: format {format!r}, expected one of {', '.join(_WRITERS)}")
    return _WRITERS[format](checked(words, trees, weights, given))


@dataclass(frozen=True, repr=False)
class Drawing:
    """The trees of a sentence that show themselves: as text, and as HTML in notebooks."""

    trees: Drawable

    def __repr__(self) -> str:
        return trees_text(self.trees)

    def _repr_html_(self) -> str:
        return trees_html(self.trees)


def show(
    post: SparsePosterior,
    words: Sequence[str] | None = None,
    instance: int = 0,
    given: Heads | None = None,
) -> Drawing:
    """The trees of one instance of a posterior over dependency trees, to be shown.

    Args:
        post: the posterior.
        words: of that instance; by default the numbers of the words.
        instance: which element of the batch.
        given: (n,) heads to compare with.
    """
    one = post[instance]
    if words is None:
        n = one.structures.shape[1] if one.lengths is None else int(one.lengths[0])
        words = [str(word) for word in range(1, n + 1)]
    return Drawing(checked(words, one.structures.tolist(), one.weights.tolist(), given))


def posterior_html(post: SparsePosterior) -> str:
    """One instance of a posterior as HTML: trees as pictures, other structures as a table."""
    if isinstance(post.structure, DependencyTrees):
        return show(post)._repr_html_()
    return table_html(post.weights.tolist(), post.structures)
