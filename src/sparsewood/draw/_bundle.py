"""The web files as one script and one style, so that a page needs no other file and no network.

Each file becomes a function that is called once and returns what it exports, so that only exported
names have to differ from file to file.
"""

import gzip
import re
from base64 import b64encode
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_IMPORT = re.compile(r'^import \{ ?([^}]*?),? ?\} from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_ANY = re.compile(r"^\s*(?:import|export)\b.*$", re.MULTILINE)
_ENTRY = "mount.js"
_NAMES = ("mount", "load", "Solver")  # what pages that make figures later are given
# Pages may hold many figures: one is mounted when it comes near the view.
_START = """const near = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    mount(target);
  }
}, { rootMargin: "600px" });
for (const element of document.querySelectorAll(".sparsewood-live")) near.observe(element);"""


@cache
def style() -> str:
    """The style sheet of live figures."""
    return _read("figure.css")


@cache
def module() -> str:
    """The script of live figures: a module without imports that defines `globalThis.sparsewood`.

    It mounts nothing by itself; the names `mount`, `load` and `Solver` are there for code that
    follows it.
    """
    order: dict[str, str] = {}
    _visit(_ENTRY, order, ())
    _check_unique(order)
    # Compressed without a time stamp: the same files give the same page.
    core = b64encode(gzip.compress(_file("sparsewood.wasm").read_bytes(), 9, mtime=0)).decode()
    names = ", ".join(_NAMES)
    return "".join(
        [
            f'const SPARSEWOOD_WASM = "{core}";\n',
            *(_scoped(source) for source in order.values()),
            f"globalThis.sparsewood = {{ ...globalThis.sparsewood, {names} }};\n",
        ]
    )


@cache
def live_assets() -> str:
    """What a page with live figures (`Live.fragment`) needs once: a style and a script, inline.

    The script mounts every figure of the page when it comes near the view, and leaves
    `globalThis.sparsewood.mount(element, data)` for figures that are made later.
    """
    script = module() + _START
    if "</script" in script or "<!--" in script:
        raise ValueError("the script of live figures would end the element that it stands in")
    return f'<style>\n{style()}</style>\n<script type="module">\n{script}\n</script>\n'


@cache
def widget_module() -> str:
    """The script of a widget in a notebook: a module whose default export has `render`."""
    return module() + _IMPORT.sub("", _read("widget.js"))


def _visit(name: str, order: dict[str, str], above: tuple[str, ...]) -> None:
    """Adds a file to `order`, after those that it imports."""
    if name in above:
        raise ValueError(f"web files import each other: {' -> '.join((*above, name))}")
    if name in order:
        return
    source = _read(name)
    for _, other in _IMPORT.findall(source):
        _visit(other, order, (*above, name))
    order[name] = source


def _scoped(source: str) -> str:
    """A file as a function that is called once."""
    names = _EXPORT.findall(source)
    body = _EXPORT.sub("", _IMPORT.sub("", source))
    left = _ANY.search(body)
    if left is not None:
        raise ValueError(f"not a line that can be joined: {left.group().strip()}")
    shared = ", ".join(names)
    return f"const {{ {shared} }} = (() => {{\n{body}return {{ {shared} }};\n}})();\n"


def _check_unique(order: dict[str, str]) -> None:
    seen: dict[str, str] = {}
    for name, source in order.items():
        for exported in _EXPORT.findall(source):
            if exported in seen:
                raise ValueError(f"{exported} is exported by {seen[exported]} and by {name}")
            seen[exported] = name


def _read(name: str) -> str:
    return _file(name).read_text(encoding="utf-8")


def _file(name: str) -> Traversable:
    return files("sparsewood.draw").joinpath("web", name)
