"""A sheet: the structures of one instance as pictures, with their weights."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from sparsewood.draw._shapes import Kind, Panel
from sparsewood.status import Status

_ALL = 0.99  # if the weights sum to less, some are missing (16 bits are not exact)


class Picture(ABC):
    """One structure, drawable in every format; one subclass per kind of picture.

    Attributes:
        kind: what the structure is; the start of its description.
    """

    kind: ClassVar[str]

    @abstractmethod
    def text(self) -> list[str]:
        """Rows of characters for the terminal."""

    @abstractmethod
    def panel(self) -> Panel:
        """The shapes of the picture."""

    @abstractmethod
    def parts(self) -> list[str]:
        """The parts of the structure as texts, for the description."""

    @cached_property
    def agrees(self) -> Sequence[bool | None] | None:
        """Whether each word agrees with the given structure; None if no structure is given.

        Entries are None for words that are not compared.
        """
        return None

    @property
    def note(self) -> str:
        """How many words agree with the given structure; empty if none is given."""
        if self.agrees is None:
            return ""
        compared = [same for same in self.agrees if same is not None]
        same = sum(compared)
        if not compared:
            return ""
        return "✓ as given" if same == len(compared) else f"{same} of {len(compared)} as given"

    def _kind(self, word: int) -> Kind:
        if self.agrees is None or self.agrees[word] is None:
            return "plain"
        return "agree" if self.agrees[word] else "differ"

    def tikz(self) -> str | None:
        """Special LaTeX code; None: draw the shapes."""
        return None

    def description(self, weight: float | None = None) -> str:
        """The structure as one line of text."""
        share = "" if weight is None else f" with probability {percent(weight)}"
        return f"{self.kind}{share}: {', '.join(self.parts()) or 'nothing'}"


@dataclass(frozen=True)
class Sheet:
    """The pictures of one instance, by decreasing weight.

    Attributes:
        noun: the name of one structure.
        title: a title of the instance, such as the words of a sentence.
        pictures: one per structure.
        weights: the probability of each structure.
        status: how the solve ended; None: unknown.
        gap: the duality gap, if known.
    """

    noun: str
    title: str
    pictures: tuple[Picture, ...]
    weights: tuple[float, ...]
    status: Status | None = None
    gap: float | None = None

    @property
    def caption(self) -> str:
        """The number of structures, and whether they are certified; empty if unknown."""
        if self.status is None:
            return ""
        count = len(self.pictures)
        kept = f"{count} {self.noun}{'s' * (count != 1)}"
        if sum(self.weights) < _ALL:
            kept = f"the most likely {kept}"
        if self.status == Status.SOLVED:
            return f"{kept}, certified"
        gap = "" if self.gap is None else f" (gap {self.gap:.1e})"
        return f"{kept}, not certified: {self.status}{gap}"


def sheet(
    noun: str,
    title: str,
    pictures: Iterable[Picture],
    weights: Iterable[float],
    status: Status | None = None,
    gap: float | None = None,
) -> Sheet:
    """The pictures by decreasing weight. Raises ValueError for invalid weights."""
    drawn = list(pictures)
    shares = [float(weight) for weight in weights]
    if len(drawn) != len(shares):
        raise ValueError(f"expected a weight per {noun}, got {len(shares)} for {len(drawn)}")
    for t, weight in enumerate(shares):
        if not 0 <= weight <= 1.001:
            raise ValueError(f"{noun} {t}: weight {weight}, expected a probability")
    order = sorted(range(len(drawn)), key=lambda t: -shares[t])
    return Sheet(
        noun,
        title,
        tuple(drawn[t] for t in order),
        tuple(shares[t] for t in order),
        status,
        gap,
    )


def percent(weight: float) -> str:
    """A probability in percent; a nonzero value is not shown as 0."""
    return "<0.1%" if 0 < weight < 0.0005 else f"{weight:.1%}"


def more(weights: Sequence[float]) -> str:
    """The number of omitted structures and their total probability."""
    return f"{len(weights)} more, together {percent(sum(weights))}"
