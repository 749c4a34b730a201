"""Interactive figures: the solver runs in the page, and the drawing follows every change."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from sparsewood._internal.files import written_whole
from sparsewood._internal.numbers import check_real, check_whole
from sparsewood.draw._bundle import live_assets
from sparsewood.draw._markup import element, escaped
from sparsewood.draw._names import Given, Names
from sparsewood.draw._problem import PARTS_MAX, FigureProblem, problem
from sparsewood.draw.drawing import Drawing
from sparsewood.draw.families import family_of, posterior_sheet
from sparsewood.draw.html import PAGE, trees_html
from sparsewood.inference.sparsemap import sparsemap
from sparsewood.structures.base import Structure

if TYPE_CHECKING:
    from sparsewood.draw.widget import LiveWidget
    from sparsewood.sparse_posterior import SparsePosterior

_SHOWN = 4  # structures drawn without scripts
_DRAWN_ONCE = 50 * PARTS_MAX  # maximum parts of an instance that is drawn
_FRAME = "width:100%;height:760px;border:0"


@dataclass(frozen=True, repr=False)
class Live:
    """A live figure, for a page, as part of one, or in a notebook. Created by `live`.

    Attributes:
        problem: the instance that is solved and drawn.
        temperature: initial temperature of SparseMAP; can be changed in the page, as can the cap.
        max_support: a cap that lowers the temperature, or None.
        max_active: a cap that stops early, or None.
        title: title of the figure.
    """

    problem: FigureProblem
    temperature: float
    max_support: int | None
    max_active: int | None
    title: str

    @cached_property
    def data(self) -> dict[str, Any]:
        """The data of the page, as JSON values."""
        most = self.max_active if self.max_support is None else self.max_support
        return {
            **self.problem.data(),
            "temperature": self.temperature,
            "most": most,
            "cap": "support" if self.max_active is None else "active",
            "title": self.title,
        }

    def fragment(self) -> str:
        """The figure as HTML for a page with `live_assets()`; static if scripts are disabled."""
        # An end tag in a string would end the element.
        text = json.dumps(self.data).replace("<", "\\u003c")
        script = element("script", text, type="application/json")
        return element("div", script + self._still(), class_="sparsewood-live")

    def page(self) -> str:
        """A complete page, which can be opened locally."""
        content = f'<main class="sparsewood-page">{self.fragment()}</main>{live_assets()}'
        return PAGE.format(title=escaped(self.title), content=content)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, atomically."""
        with written_whole(Path(path)) as draft:
            draft.write_text(self.page(), encoding="utf-8")

    @property
    def posterior(self) -> SparsePosterior:
        """The initial posterior of the figure."""
        return sparsemap(
            self.problem.scores[None],
            self.problem.structure,
            temperature=self.temperature,
            max_support=self.max_support,
            max_active=self.max_active,
        )

    def widget(self) -> LiveWidget:
        """The figure as a notebook widget, which reports changes made by the user to Python.

        Raises:
            ModuleNotFoundError: the extra `notebook` is not installed.
        """
        from sparsewood.draw.widget import LiveWidget

        return LiveWidget.of(self)

    @property
    def drawing(self) -> Drawing:
        """A static drawing of the initial posterior."""
        names = self.problem.names
        taken = family_of(self.problem.structure, Names(), "live").taken
        known = Names(**{name: getattr(names, name) for name in taken})
        return Drawing(posterior_sheet(self.posterior, 0, known))

    def __repr__(self) -> str:
        return f"Live({self.problem.structure}, {self.title!r}: save(path) writes the page)"

    def _repr_html_(self) -> str:
        return element("iframe", "", srcdoc=self.page(), style=_FRAME, title=self.title)

    def _still(self) -> str:
        """The static figure, shown if scripts are disabled or the instance is too large."""
        note = self.problem.too_large
        said = element("p", escaped(note), class_="sparsewood-note") if note else ""
        if self.problem.scores.numel() > _DRAWN_ONCE:
            return said
        few = 1 if note else _SHOWN
        return said + trees_html(self.drawing.sheet, few, 0 if note else few)


def live(
    scores: Tensor,
    structure: Structure,
    words: Sequence[str] | None = None,
    *,
    lengths: Tensor | None = None,
    instance: int = 0,
    other: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    given: Given | None = None,
    temperature: float = 1.0,
    max_support: int | None = None,
    max_active: int | None = None,
    title: str | None = None,
) -> Live:
    """An interactive figure of one instance, which solves SparseMAP in the page.

    Sliders set the temperature and the maximum number of structures; scores can be dragged or
    typed. The posterior is drawn next to the best structure and the k best. The solver is the
    native one, compiled to WebAssembly, so weights equal those of `sparsemap`. Pages need no
    network.

    Args:
        scores: (*parts), or (B, *parts) of which one `instance` is shown; -inf forbids a part.
        structure: a family with a native oracle.
        words: names of the words of a sentence, items of a set, or rows of a matching or alignment.
            Default: numbers.
        lengths: as for `sparsemap`.
        instance: index into the batch.
        other: names of the columns of a matching or an alignment.
        labels: names of the labels or tags, in the order of their scores.
        given: a structure to compare with, for dependency trees (heads (n,); with labels (n, 2))
            and taggings (tags (n,)).
        temperature: initial temperature.
        max_support: maximum number of structures, reached by lowering the temperature.
        max_active: maximum number of structures, reached by stopping early; for models trained
            with this cap.
        title: title of the page. Default: the words.

    Raises:
        ValueError: a structure without native oracle, a wrong number of names, bad scores.

    Example:
        >>> figure = sp.draw.live(torch.zeros(2, 3), sp.DependencyTrees(), ["She", "slept"])
        >>> figure.data["words"], figure.data["shape"]
        (['She', 'slept'], [2, 3])
    """
    temperature = check_real("live: temperature", temperature, positive=True)
    for name, most in (("max_support", max_support), ("max_active", max_active)):
        if most is not None:
            check_whole(f"live: {name}", most)
    if max_support is not None and max_active is not None:
        raise ValueError("live: expected max_support or max_active, got both")
    names = Names(words, other, labels, given)
    shown = problem(scores, structure, lengths, instance, names)
    if title is None:
        title = str(structure) if words is None else " ".join(words)
    return Live(shown, temperature, max_support, max_active, title)
