"""What is drawn: the structures of one instance, each as a picture, with their weights."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from sparsewood.draw._shapes import Kind, Panel
from sparsewood.status import Status

_ALL = 0.99  # weights of a sum below this are not all there are (16 bits are not exact)


class Picture(ABC):
    """One structure, drawn in every way; one class for each family of pictures.

    Attributes:
        kind: what the structure is, to begin its description with.
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
        """The parts of the structure in words, for the description."""

    @cached_property
    def agrees(self) -> Sequence[bool | None] | None:
        """Whether each word is as in the structure given to compare with; None without one.

        None for a word that is not compared.
        """
        return None

    @property
    def note(self) -> str:
        """How many words are as given; empty where nothing is given."""
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
        """LaTeX of its own; None: its shapes are drawn."""
        return None

    def description(self, weight: float | None = None) -> str:
        """The structure in one line of words."""
        share = "" if weight is None else f" with probability {percent(weight)}"
        return f"{self.kind}{share}: {', '.join(self.parts()) or 'nothing'}"


@dataclass(frozen=True)
class Sheet:
    """The pictures of one instance, in falling order of weight.

    Attributes:
        noun: what one structure is called.
        title: what the instance is: the words of a sentence, say.
        pictures: one of each structure.
        weights: the probability of each.
        status: how the solve ended that the weights are of; None: not known.
        gap: the duality gap, if it is known.
    """

    noun: str
    title: str
    pictures: tuple[Picture, ...]
    weights: tuple[float, ...]
    status: Status | None = None
    gap: float | None = None

    @property
    def caption(self) -> str:
        """How many structures there are, and whether they are certified; empty if not known."""
        if self.status is None:
            return ""
        count = len(self.pictures)
        kept = f"{count} {self.noun}{'s' * (count != 1)}"
        if sum(self.weights) < _ALL:
            kept = f"the likeliest {kept}"
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
    """The pictures by falling weight, or a ValueError that names the weight at fault."""
    drawn = list(pictures)
    shares = [float(weight) for weight in weights]
    if len(drawn) != len(shares):
        raise ValueError(f"{len(drawn)} {noun}s but {len(shares)} weights")
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
    """A probability as people read it; what is not zero does not become so."""
    return "<0.1%" if 0 < weight < 0.0005 else f"{weight:.1%}"


def more(weights: Sequence[float]) -> str:
    """What is left out: how many, and their probability."""
    return f"{len(weights)} more, together {percent(sum(weights))}"
