"""Formulas as MathML, which browsers draw themselves: no script, no font, nothing to fetch.

The translation from LaTeX is that of docutils.
"""

from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging


def _mathml(node: nodes.math | nodes.math_block, block: bool) -> str:
    try:
        return tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("%s", error, location=node)
        return f"<code>{escape(node.astext())}</code>"


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    # A formula that is wider than the page scrolls by itself, and can be reached by the keyboard.
    writer.body.append(f'<div class="formula" tabindex="0">{_mathml(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
