"""Pictures of trees given as heads or spans, with checks."""

from collections.abc import Iterable, Sequence

from sparsewood.draw._sheet import Sheet, sheet
from sparsewood.draw.arcs import Arcs, Heads, checked_heads
from sparsewood.draw.brackets import Brackets, Span
from sparsewood.status import Status


def checked(
    words: Sequence[str],
    trees: Iterable[Heads],
    weights: Iterable[float],
    given: Heads | None = None,
    status: Status | None = None,
) -> Sheet:
    """The trees by decreasing weight. Raises ValueError naming an invalid tree and its word."""
    n, names = len(words), tuple(words)
    wanted = None if given is None else checked_heads(given, n, "given heads", unknown=True)
    rows = [checked_heads(heads, n, f"tree {t}") for t, heads in enumerate(trees)]
    pictures = [Arcs(names, heads, given=wanted) for heads in rows]
    return sheet("tree", " ".join(names), pictures, weights, status)


def checked_brackets(
    words: Sequence[str], trees: Iterable[Iterable[Sequence[int]]], weights: Iterable[float]
) -> Sheet:
    """As `checked`, for binary trees given as spans of words, counted from 0, ends included."""
    names = tuple(words)
    pictures = [Brackets(names, _spans(spans, len(names), t)) for t, spans in enumerate(trees)]
    return sheet("tree", " ".join(names), pictures, weights)


def _spans(spans: Iterable[Sequence[int]], n: int, tree: int) -> dict[Span, str]:
    found = {(int(first), int(last)) for first, last in spans}
    whole = all(
        0 <= first <= last < n
        and (
            first == last
            or any((first, k) in found and (k + 1, last) in found for k in range(first, last))
        )
        for first, last in found
    )
    if not whole or (0, n - 1) not in found or len(found) != 2 * n - 1:
        raise ValueError(
            f"tree {tree}: expected the {2 * n - 1} spans of a binary tree of {n} words"
        )
    return dict.fromkeys(sorted(found), "")
