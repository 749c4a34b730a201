"""Structures of any family, including user-defined ones: the indices of their parts."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

from sparsewood.draw._markup import text_width
from sparsewood.draw._names import Names, parts_of
from sparsewood.draw._shapes import MARGIN, SIZE, Panel, Text
from sparsewood.draw._sheet import Picture

if TYPE_CHECKING:
    from sparsewood.posterior import Posterior

_SHOWN = 60  # parts that are listed
_COLUMNS = 78
_LINE = 20.0


@dataclass(frozen=True)
class Listing(Picture):
    """One structure.

    Attributes:
        indices: the indices of its parts, in the order of the scores.
        amounts: how much of each, for parts that are numbers.
    """

    kind: ClassVar[str] = "Structure with the parts"

    indices: tuple[tuple[int, ...], ...]
    amounts: tuple[float, ...] | None = None

    def parts(self) -> list[str]:
        shown = [str(i[0]) if len(i) == 1 else f"({', '.join(map(str, i))})" for i in self.indices]
        if self.amounts is not None:
            shown = [f"{part}: {x:g}" for part, x in zip(shown, self.amounts, strict=True)]
        left = len(shown) - _SHOWN
        return shown if left <= 0 else [*shown[:_SHOWN], f"{left} more"]

    def text(self) -> list[str]:
        return wrap(f"parts {'  '.join(self.parts())}" if self.indices else "no parts", _COLUMNS)

    def panel(self) -> Panel:
        lines = self.text()
        widths = [text_width(line, SIZE) for line in lines]
        return Panel(
            [
                Text(MARGIN + width / 2, MARGIN + SIZE + _LINE * i, line)
                for i, (line, width) in enumerate(zip(lines, widths, strict=True))
            ],
            max(widths) + 2 * MARGIN,
            _LINE * len(lines) + 2 * MARGIN,
        )


def listings(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over any family."""
    listed = [tuple(indices) for indices in parts_of(post)]
    if post.structure.binary:
        return [Listing(indices) for indices in listed]
    amounts = [tuple(one[one != 0].tolist()) for one in post.parts]
    return [Listing(*both) for both in zip(listed, amounts, strict=True)]
