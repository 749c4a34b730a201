"""Drawings of the structures of one instance, in every format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sparsewood.draw._names import Given, Names
from sparsewood.draw._sheet import Sheet
from sparsewood.draw._trees import checked
from sparsewood.draw.arcs import Heads
from sparsewood.draw.conllu import sheet_conllu
from sparsewood.draw.families import posterior_sheet
from sparsewood.draw.html import page_html, trees_html
from sparsewood.draw.svg import sheet_svg
from sparsewood.draw.text import sheet_text
from sparsewood.draw.tikz import sheet_tikz
from sparsewood.status import Status

if TYPE_CHECKING:
    from sparsewood.posterior import Posterior

Format = Literal["text", "svg", "html", "tikz", "conllu"]

_SHOWN = 32  # structures shown by default; the rest is only counted
_WRITERS: dict[str, Callable[[Sheet], str]] = {
    "text": sheet_text,
    "svg": sheet_svg,
    "html": page_html,
    "tikz": sheet_tikz,
    "conllu": sheet_conllu,
}


def draw(
    words: Sequence[str],
    trees: Iterable[Heads],
    weights: Iterable[float],
    given: Heads | None = None,
    format: Format = "text",  # noqa: A002
    *,
    status: Status | str | None = None,
) -> str:
    """Draw the dependency trees of one sentence, the most probable first.

    Args:
        words: the n words.
        trees: the heads (n,) of each tree: 0 for the root, j for word j (counted from 1).
        weights: the probability of each tree.
        given: (n,) heads to compare with, for example a parser's.
        format: "text" for the terminal, "svg", "html" (a complete page), "tikz" (for the LaTeX
            package tikz-dependency) or "conllu".
        status: how the solve of the weights ended: "solved", "capped", "stalled" or "limited".
            None: unknown.
    """
    _check_format("draw", format)
    ended = None if status is None else Status(status)
    return _WRITERS[format](checked(words, trees, weights, given, ended))


@dataclass(frozen=True, repr=False)
class Drawing:
    """A drawing of structures, displayed as text, or as HTML in notebooks."""

    sheet: Sheet

    def to(self, format: Format) -> str:  # noqa: A002
        """All structures as "text", "svg", "html" (a page), "tikz" or, for trees, "conllu"."""
        _check_format("Drawing.to", format)
        return _WRITERS[format](self.sheet)

    def __repr__(self) -> str:
        return sheet_text(self.sheet, _SHOWN)

    def _repr_html_(self) -> str:
        return trees_html(self.sheet)


def show(
    post: Posterior,
    words: Sequence[str] | None = None,
    instance: int = 0,
    given: Given | None = None,
    *,
    other: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
) -> Drawing:
    """A drawing of the structures of one instance of a posterior.

    Args:
        post: the posterior.
        words: names of the words of a sentence, items of a set, or rows of a matching or alignment.
            Default: numbers, as the family counts.
        instance: index into the batch.
        given: a structure to compare with, for dependency trees (heads (n,); with labels (n, 2))
            and taggings (tags (n,)).
        other: names of the columns of a matching or an alignment.
        labels: names of the labels or tags, in the order of their scores. Default: numbers.
    """
    return Drawing(posterior_sheet(post, instance, Names(words, other, labels, given)))


def _check_format(what: str, form: str) -> None:
    if form not in _WRITERS:
        raise ValueError(f"{what}: format: expected one of {', '.join(_WRITERS)}, got {form!r}")
