"""Dependency trees as they come in: checked heads, made into pictures."""

from collections.abc import Iterable, Sequence

from sparsewood.draw._sheet import Sheet, sheet
from sparsewood.draw.arcs import Arcs, Heads, checked_heads
from sparsewood.status import Status


def checked(
    words: Sequence[str],
    trees: Iterable[Heads],
    weights: Iterable[float],
    given: Heads | None = None,
    status: Status | None = None,
) -> Sheet:
    """The trees by falling weight, or a ValueError that names the tree and the word at fault."""
    n, names = len(words), tuple(words)
    wanted = None if given is None else checked_heads(given, n, "given heads", unknown=True)
    rows = [checked_heads(heads, n, f"tree {t}") for t, heads in enumerate(trees)]
    pictures = [Arcs(names, heads, given=wanted) for heads in rows]
    return sheet("tree", " ".join(names), pictures, weights, status)
