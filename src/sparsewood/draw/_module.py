"""Makes the package `sparsewood.draw` callable, for `sp.draw(post)`."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from sparsewood.draw._names import Given
from sparsewood.draw.drawing import Drawing
from sparsewood.draw.drawings import Drawings, Words, drawn

if TYPE_CHECKING:
    from sparsewood.draw._bundle import live_assets
    from sparsewood.draw.drawing import draw, show
    from sparsewood.draw.live_figure import Live, live
    from sparsewood.draw.text import posterior_text, tree_text
    from sparsewood.posterior import Posterior


class DrawModule(ModuleType):
    """A module that draws a posterior when it is called."""

    def __call__(
        self,
        post: Posterior,
        words: Words | None = None,
        instance: int | None = None,
        given: Given | None = None,
        *,
        other: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
    ) -> Drawing | Drawings:
        """See `Posterior.show`."""
        return drawn(post, words, instance, given, other=other, labels=labels)

    if TYPE_CHECKING:  # type checkers do not support callable modules
        Drawing, Drawings, Live = Drawing, Drawings, Live
        draw, show, live = staticmethod(draw), staticmethod(show), staticmethod(live)
        live_assets = staticmethod(live_assets)
        posterior_text, tree_text = staticmethod(posterior_text), staticmethod(tree_text)
