"""Display of posteriors and forests in notebooks and by `print`, which never raises."""

from __future__ import annotations

from sparsewood.draw._markup import element, escaped, number
from sparsewood.draw._names import Names
from sparsewood.draw.drawings import posterior_summary
from sparsewood.draw.families import posterior_sheet
from sparsewood.draw.html import trees_html
from sparsewood.draw.shared import sentences_of, shared_graph, uses_of
from sparsewood.draw.svg import picture_svg
from sparsewood.forest import Forest
from sparsewood.posterior import Posterior
from sparsewood.soft_posterior import SoftPosterior

_INSTANCES, _EACH = 2, 3  # instances of a batch to draw, structures per instance
_ALONE, _FOLDED = 8, 24  # structures of a single instance, visible and collapsed
_PARTS = 600  # maximum parts in the pictures of one instance
_TREES, _NODES = 3, 90  # maximum trees and nodes of a graph
_CELL, _CELLS = 14.0, 40  # size of a cell of a table of marginals; maximum rows or columns
_NOTE = "margin:0 0 8px;font-size:13px"


def html(result: Posterior | Forest) -> str | None:
    """A fragment of HTML; None if it fails, so that the text is shown instead."""
    try:
        return forest_html(result) if isinstance(result, Forest) else posterior_html(result)
    except Exception:
        return None  # displaying a result must never stop a notebook


def text(post: Posterior) -> str | None:
    """The text of `print(post)`; None if it fails."""
    try:
        return posterior_summary(post)
    except Exception:
        return None


def posterior_html(post: Posterior) -> str:
    """One instance with its structures, or the first instances of a batch and a count."""
    if isinstance(post, SoftPosterior):
        return _block(_note(repr(post)), _soft(post) if len(post) else "")
    if len(post) == 1:
        return _drawn(post, _ALONE, _FOLDED)
    shown = min(len(post), _INSTANCES)
    parts = [_note(repr(post))]
    for i in range(shown):
        parts += [_note(f"Instance {i}", "strong"), _drawn(post[i], _EACH, 0)]
    left = len(post) - shown
    if left > 0:
        parts.append(_note(f"and {left:,} more instance{'s' * (left != 1)}: post[{shown}], …"))
    return _block(*parts)


def forest_html(forest: Forest) -> str:
    """Statistics of shared nodes, and the graph of the first sentence with several trees."""
    nodes, trees = forest.num_nodes, len(forest.roots)
    if not nodes:
        return _block(_note(repr(forest)))
    uses = uses_of(forest)
    shared = int((uses > 1).sum())
    told = (
        f"{trees:,} tree{'s' * (trees != 1)} over {forest.shape[0]:,} "
        f"sentence{'s' * (forest.shape[0] != 1)}: {nodes:,} nodes in {len(forest.levels)} levels "
        f"stand for {forest.num_tree_nodes:,} (sharing {forest.sharing:.2f}), "
        f"{shared:,} are in several trees"
    )
    return _block(_note(told), _graph(forest))


def _graph(forest: Forest) -> str:
    """The first trees of the first sentence that has several; empty if it is too long."""
    of = sentences_of(forest)
    trees = of.bincount(minlength=forest.shape[0])
    sentence = int((trees > 1).int().argmax()) if (trees > 1).any() else int(of[0])
    roots = forest.roots[of == sentence].tolist()
    picture = shared_graph(forest, roots[:_TREES])
    if len(picture.nodes) > _NODES:
        return ""
    first = f"the first {_TREES} of {len(roots)} trees, " if len(roots) > _TREES else ""
    told = f"Sentence {sentence}: {first}{', '.join(picture.parts())} (shaded)"
    return element("div", picture_svg(picture), style="overflow-x:auto") + _note(told)


def _drawn(one: Posterior, shown: int, folded: int) -> str:
    """The pictures of one instance, limited in size."""
    size = max(1, one.mode.numel())
    room = _PARTS // size
    if room == 0:
        return _block(_note(repr(one).partition("\n")[0]), _note("too large to draw"))
    shown = min(shown, room)
    return trees_html(posterior_sheet(one, 0, Names()), shown, min(folded, room - shown))


def _soft(post: SoftPosterior) -> str:
    """The marginals of the first instance as a heat map; empty if they are not a table."""
    table = post[0].marginals[0].detach().double().cpu()
    table = table[None] if table.ndim == 1 else table
    if table.ndim != 2 or max(table.shape) > _CELLS:
        return ""
    cells = [
        element(
            "rect",
            element("title", f"({i}, {j}): {value:.3f}"),
            x=_CELL * j,
            y=_CELL * i,
            width=_CELL - 1,
            height=_CELL - 1,
            fill_opacity=0.05 + 0.95 * min(1.0, max(0.0, value)),
        )
        for i, row in enumerate(table.tolist())
        for j, value in enumerate(row)
    ]
    height, width = (_CELL * size for size in table.shape)
    box = f"0 0 {number(width)} {number(height)}"
    title = element("title", "Marginals of the first instance")
    content = title + "".join(cells)
    drawn = element("svg", content, width=width, height=height, viewBox=box, fill="currentColor")
    return drawn + _note("marginals" if len(post) == 1 else "marginals of instance 0")


def _note(text: str, tag: str = "span") -> str:
    return element("p", element(tag, escaped(text)), style=_NOTE)


def _block(*parts: str) -> str:
    return element("div", "".join(parts), class_="sparsewood-result")
