"""Live figures in pages: a directive that runs a few lines of Python and puts their figure in.

    ```{live}
    :code:

    import sparsewood as sp
    sp.draw.live(scores, sp.DependencyTrees(), words)
    ```

The last line is an expression whose value is the figure. With `:code:` the lines are shown as well.
Style and script are added to each page that has a figure, once, inside the page: it works opened
from a disk.
"""

import ast
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sparsewood.draw import Live, live_assets

_MARK = 'class="sparsewood-live'


def figure_of(source: str, name: str) -> Live:
    """The value of the last line of `source`, or a ValueError that says what is there instead."""
    module = ast.parse(source, name)
    last = module.body.pop() if module.body else None
    if not isinstance(last, ast.Expr):
        raise ValueError(f"{name}: the last line has to be an expression, the figure")
    scope: dict[str, Any] = {}
    exec(compile(module, name, "exec"), scope)
    value = eval(compile(ast.Expression(last.value), name, "eval"), scope)
    if not isinstance(value, Live):
        raise ValueError(f"{name}: the last line is a {type(value).__name__}, expected a figure")
    return value


class LiveFigure(SphinxDirective):
    """The figure that the lines of the directive make."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"code": directives.flag}

    def run(self) -> list[nodes.Node]:
        source = "\n".join(self.content)
        path, line = self.get_source_info()
        figure = figure_of(source, f"{path}:{line}")
        shown: list[nodes.Node] = []
        if "code" in self.options:
            shown.append(nodes.literal_block(source, source, language="python"))
        shown.append(nodes.raw("", figure.fragment(), format="html"))
        return shown


def _add_assets(_app: Sphinx, _page: str, _template: str, context: Any, _doctree: Any) -> None:
    if _MARK in context.get("body", ""):
        context["body"] += live_assets()


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("live", LiveFigure)
    app.connect("html-page-context", _add_assets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
