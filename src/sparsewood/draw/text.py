"""Pictures as text, each after its probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparsewood.draw._names import Given, Names
from sparsewood.draw._sheet import Sheet, more, percent
from sparsewood.draw.arcs import Arcs, Heads, checked_heads
from sparsewood.draw.families import posterior_sheet

if TYPE_CHECKING:
    from sparsewood.posterior import Posterior

_BAR = 20  # columns of the bar for probability 1


def sheet_text(sheet: Sheet, k: int | None = None) -> str:
    """The certificate, and the `k` most probable structures (default: all)."""
    shown = len(sheet.pictures) if k is None else min(k, len(sheet.pictures))
    blocks = [sheet.caption] if sheet.caption else []
    for picture, weight in zip(sheet.pictures[:shown], sheet.weights[:shown], strict=True):
        title = f"{_bar(weight)}  {picture.note}".rstrip()
        blocks.append("\n".join([title, *picture.text()]))
    if shown < len(sheet.pictures):
        blocks.append(f"and {more(sheet.weights[shown:])}")
    return "\n\n".join(blocks)


def tree_text(heads: Heads, words: Sequence[str], given: Heads | None = None) -> str:
    """Draw one dependency tree.

    Args:
        heads: (n,) integers: the head of each word, 0 for the root, j for word j (counted from 1).
            Padding (-1) beyond the words is ignored.
        words: the n words of the sentence.
        given: (n,) heads to compare with: a row below the words marks those that agree (✓) and
            those that differ (✗).

    Returns:
        Lines of equal width on the terminal (wide and combining characters are measured).
    """
    arcs = checked_heads(heads, len(words), "tree_text")
    wanted = None if given is None else checked_heads(given, len(words), "given heads")
    return "\n".join(Arcs(tuple(words), arcs, given=wanted).text())


def posterior_text(
    post: Posterior,
    words: Sequence[str] | None = None,
    instance: int = 0,
    k: int | None = None,
    given: Given | None = None,
    *,
    other: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
) -> str:
    """Draw the structures of one instance of a posterior as text, the most probable first.

    Args:
        post: the posterior.
        k: number of structures to draw. Default: all.
        words, instance, given, other, labels: as for `show`.
    """
    return sheet_text(posterior_sheet(post, instance, Names(words, other, labels, given)), k)


def _bar(weight: float) -> str:
    filled = round(min(weight, 1) * _BAR)
    return f"{percent(weight):>6}  {'█' * filled}{'░' * (_BAR - filled)}"
