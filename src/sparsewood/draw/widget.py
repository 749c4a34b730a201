"""The live figure as a widget of a notebook; needs the extra `notebook`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparsewood._internal.extras import how_to_install
from sparsewood.draw._bundle import style, widget_module

try:
    from anywidget import AnyWidget
    from traitlets import Dict, Float, Int, List
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("anywidget", "traitlets"):
        raise
    raise ModuleNotFoundError(
        f"a widget needs anywidget (extra [notebook]): {how_to_install('notebook')}",
        name=error.name,
    ) from None

if TYPE_CHECKING:
    from sparsewood.draw.live_figure import Live


class LiveWidget(AnyWidget):
    """A live figure that Python can watch: `widget.observe(function, "weights")`.

    What the reader changes arrives in the traits; `temperature`, `most` and `scores` may be set
    from Python too, and the figure answers. `structures` and `weights` are then the browser's.

    Attributes:
        data: of the figure, `Live.data`.
        temperature: of the slider; with few structures to keep, that of the answer may be lower.
        most: the most structures to keep; None: as many as it takes.
        scores: flat, None for -inf. None where the instance is too large for a figure that answers.
        structures: of the support, each flat, in the order of the solver.
        weights: of each structure.
        pinned: structures that the reader has pinned, each flat.
    """

    _esm = widget_module()
    _css = style()

    data = Dict().tag(sync=True)
    temperature = Float().tag(sync=True)
    most = Int(None, allow_none=True).tag(sync=True)
    scores = List(Float(None, allow_none=True), None, allow_none=True).tag(sync=True)
    structures = List(List(Int())).tag(sync=True)
    weights = List(Float()).tag(sync=True)
    pinned = List(List(Int())).tag(sync=True)

    @classmethod
    def of(cls, figure: Live) -> LiveWidget:
        """The widget of a figure, with the posterior that it begins with."""
        data, post = figure.data, figure.posterior
        return cls(
            data=data,
            temperature=data["temperature"],
            most=data["most"],
            scores=data["scores"],
            structures=[structure.flatten().tolist() for structure in post.structures],
            weights=post.weights.tolist(),
        )
