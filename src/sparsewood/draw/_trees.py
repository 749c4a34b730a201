"""What every way of drawing trees needs: checked heads, words that can be shown, agreement."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

Heads = Tensor | Sequence[int]


@dataclass(frozen=True)
class Drawable:
    """The trees of one sentence, checked, in falling order of weight.

    Attributes:
        words: of the sentence.
        trees: the heads of each tree.
        weights: the probability of each tree.
        given: heads to compare with, if there are any.
    """

    words: tuple[str, ...]
    trees: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]
    given: tuple[int, ...] | None


def checked(
    words: Sequence[str],
    trees: Iterable[Heads],
    weights: Iterable[float],
    given: Heads | None = None,
) -> Drawable:
    """The trees by falling weight, or a ValueError that names the tree and the word at fault."""
    n = len(words)
    rows = [checked_heads(heads, n, f"tree {t}") for t, heads in enumerate(trees)]
    shares = [float(weight) for weight in weights]
    if len(rows) != len(shares):
        raise ValueError(f"{len(rows)} trees but {len(shares)} weights")
    for t, weight in enumerate(shares):
        if not 0 <= weight <= 1.001:
            raise ValueError(f"tree {t}: weight {weight}, expected a probability")
    order = sorted(range(len(rows)), key=lambda t: -shares[t])
    return Drawable(
        tuple(words),
        tuple(rows[t] for t in order),
        tuple(shares[t] for t in order),
        None if given is None else checked_heads(given, n, "given heads"),
    )


def checked_heads(heads: Heads, n: int, what: str) -> tuple[int, ...]:
    """The heads of the n words, padding (-1) beyond them left out, or ValueError."""
    arcs = tuple(int(head) for head in heads)
    if len(arcs) < n or any(head != -1 for head in arcs[n:]):
        raise ValueError(f"{what}: {len(arcs)} heads for {n} words")
    for word, head in enumerate(arcs[:n], start=1):
        if not 0 <= head <= n or head == word:
            raise ValueError(f"{what}: word {word} of {n} has head {head}")
    return arcs[:n]


def agreement(heads: Sequence[int], given: Sequence[int] | None) -> str:
    """How many words have the head that is given for them; empty where none are given."""
    if given is None:
        return ""
    same = sum(head == wanted for head, wanted in zip(heads, given, strict=True))
    return "✓ as given" if same == len(heads) else f"{same} of {len(heads)} as given"


def printable(word: str) -> str:
    """The word with every character that has no picture (control, surrogate) replaced by a dot."""
    return "".join(c if c.isprintable() else "·" for c in word)


def percent(weight: float) -> str:
    """A probability as people read it; what is not zero does not become so."""
    return "<0.1%" if 0 < weight < 0.0005 else f"{weight:.1%}"
