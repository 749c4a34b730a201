"""Live figures in pages: a directive that runs a few lines of Python and inserts their figure.

    ```{live}
    :code:

    import sparsewood as sp
    sp.draw.live(scores, sp.DependencyTrees(), words)
    ```

The last line is an expression whose value is the figure. With `:code:` the lines are shown as well.
Style and script are two files of the site, which only pages with figures load.
"""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sparsewood.draw import Live, live_assets

_MARK = 'class="sparsewood-live'


def figure_of(source: str, name: str) -> Live:
    """The value of the last line of `source`; anything but a figure raises a ValueError."""
    module = ast.parse(source, name)
    last = module.body.pop() if module.body else None
    if not isinstance(last, ast.Expr):
        raise ValueError(f"{name}: the last line must be an expression, the figure")
    scope: dict[str, Any] = {}
    exec(compile(module, name, "exec"), scope)
    value = eval(compile(ast.Expression(last.value), name, "eval"), scope)
    if not isinstance(value, Live):
        raise ValueError(f"{name}: the last line is a {type(value).__name__}, expected a figure")
    return value


class LiveFigure(SphinxDirective):
    """The figure made by the lines of the directive."""

    has_content = True
    option_spec: ClassVar[dict[str, Callable[[str], Any]] | None] = {"code": directives.flag}

    def run(self) -> list[nodes.Node]:
        source = "\n".join(self.content)
        path, line = self.get_source_info()
        figure = figure_of(source, f"{path}:{line}")
        shown: list[nodes.Node] = []
        if "code" in self.options:
            shown.append(nodes.literal_block(source, source, language="python"))
        shown.append(nodes.raw("", figure.fragment(), format="html"))
        return shown


def _add_assets(app: Sphinx, _page: str, _template: str, context: Any, _doctree: Any) -> None:
    if _MARK in context.get("body", ""):
        app.add_css_file("live.css")
        app.add_js_file("live.js", loading_method="defer")


def _write_assets(app: Sphinx, error: Exception | None) -> None:
    """Write the style and the script to files, without their elements.

    The module becomes a plain script, because browsers refuse to load modules from local files.
    """
    if error is not None or app.builder.format != "html":
        return
    found = re.fullmatch(
        r"<style>(.*)</style>\s*<script type=\"module\">(.*)</script>\s*", live_assets(), re.DOTALL
    )
    if found is None:
        raise ValueError("live_assets: expected a style and a script")
    style, script = found.groups()
    static = Path(app.outdir) / "_static"
    (static / "live.css").write_text(style, encoding="utf-8")
    (static / "live.js").write_text(f'(() => {{\n"use strict";{script}}})();\n', encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("live", LiveFigure)
    app.connect("html-page-context", _add_assets)
    app.connect("build-finished", _write_assets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
