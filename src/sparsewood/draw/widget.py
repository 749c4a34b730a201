"""The live figure as a notebook widget; needs the extra `notebook`."""

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
        f"the widget needs anywidget (extra [notebook]): {how_to_install('notebook')}",
        name=error.name,
    ) from None

if TYPE_CHECKING:
    from sparsewood.draw.live_figure import Live


class LiveWidget(AnyWidget):
    """A live figure that Python can observe: `widget.observe(function, "weights")`.

    The traits follow changes by the user. `temperature`, `most` and `scores` can also be set from
    Python, which updates the figure. `structures` and `weights` are computed in the browser.

    Attributes:
        data: the data of the figure, `Live.data`.
        temperature: temperature of the slider; with `most`, the solution's may be lower.
        most: maximum number of structures; None: no limit.
        scores: flat, None for -inf. None if the instance is too large to be interactive.
        structures: structures of the support, each flat, in the order of the solver.
        weights: the weight of each structure.
        pinned: structures pinned by the user, each flat.
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
        """The widget of a figure, with its initial posterior."""
        data, post = figure.data, figure.posterior
        return cls(
            data=data,
            temperature=data["temperature"],
            most=data["most"],
            scores=data["scores"],
            structures=[structure.flatten().tolist() for structure in post.structures],
            weights=post.weights.tolist(),
        )
