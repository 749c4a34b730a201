"""Bundles the web files into one script and one style, so that pages need no network.

Each file becomes a function that is called once and returns its exports, so only exported names
must be unique.
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
_NAMES = ("mount", "load", "Solver")  # exposed to pages that create figures later
# A page may hold many figures: each is mounted when it comes near the viewport. Until then it has
# about the height that it will have, so that the page does not grow while a reader scrolls.
_START = """const near = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    mount(target).finally(() => target.style.removeProperty("min-height"));
  }
}, { rootMargin: "600px" });
for (const element of document.querySelectorAll(".sparsewood-live")) {
  const narrow = element.clientWidth < 720;
  element.style.minHeight = `${narrow ? 960 : 800}px`;
  near.observe(element);
}"""


@cache
def style() -> str:
    """The style sheet of live figures."""
    return _read("figure.css")


@cache
def module() -> str:
    """The script of live figures: a module without imports that defines `globalThis.sparsewood`.

    It does not mount figures; code that follows it can use `mount`, `load` and `Solver`.
    """
    order: dict[str, str] = {}
    _visit(_ENTRY, order, ())
    _check_unique(order)
    # Compressed without a time stamp, so that equal files give equal pages.
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
    """The inline style and script that a page with live figures (`Live.fragment`) needs once.

    The script mounts each figure when it comes near the viewport, and defines
    `globalThis.sparsewood.mount(element, data)` for figures that are created later.
    """
    script = module() + _START
    if "</script" in script or "<!--" in script:
        raise ValueError("the script of live figures contains an end tag of its element")
    return f'<style>\n{style()}</style>\n<script type="module">\n{script}\n</script>\n'


@cache
def widget_module() -> str:
    """The script of a widget in a notebook: a module whose default export has `render`."""
    return module() + _IMPORT.sub("", _read("widget.js"))


def _visit(name: str, order: dict[str, str], above: tuple[str, ...]) -> None:
    """Add a file to `order`, after its imports."""
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
        raise ValueError(f"cannot bundle this line: {left.group().strip()}")
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
