"""Sphinx configuration. `make docs` builds with warnings as errors."""

import re
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "sparsewood"
author = "The sparsewood authors"
release = version = installed("sparsewood")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "live_figures",
    "mathml",
    "names_on_page",
    "pictures",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "sg_execution_times.rst"]
default_role = "code"
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks are committed with their outputs
html_theme = "furo"
html_title = "sparsewood"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
napoleon_use_ivar = True  # list all attributes together

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"demo\.py$",
    "image_scrapers": ("pictures.scraped",),
    "capture_repr": (),
    "reset_modules": ("pictures.styled",),
    "within_subsection_order": "pictures.InOrder",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
}


def _as_rst(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Escape docstrings for reStructuredText. They are written as plain text: indented blocks are
    literal, and stars and bars outside backticks have no special meaning."""
    out: list[str] = []
    outer = 0  # indentation of the text around a literal block
    literal = False
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip() and literal and indent <= outer:
            literal = False
        block = line.strip() and not literal and bool(out) and not out[-1].strip()
        if block and indent > outer:
            out += [" " * outer + ".. code-block:: text", ""]
            literal = True
        if line.strip() and not literal:
            outer = indent
        keep = literal or line.lstrip().startswith(">>>")
        out.append(line if keep else _escaped(line))
    lines[:] = out


def _escaped(line: str) -> str:
    """The line with stars and bars outside `backticks` escaped.

    Code with a colon gets a second pair of backticks; otherwise napoleon splits it there.
    """
    pieces = re.split(r"(`[^`]+`)", line)
    return "".join(_code(p) if p.startswith("`") else _plain(p) for p in pieces)


def _code(text: str) -> str:
    return f"`{text}`" if ":" in text else text


def _plain(text: str) -> str:
    return re.sub(r"([*|])", r"\\\1", text)


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", _as_rst, priority=100)  # before napoleon
