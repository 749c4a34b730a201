"""`make check-docs`: open every page of the built site in a browser, from local files.

A page must not print to the console, request anything that is not a file of the site, be wider
than the window, from phones to wide screens, or be too high to find anything in; its live figures
must be mounted. Links inside the site must have a target. The notebook of each example must have
the code of its program, and neither may refer to files. The pages are printed with their heights.

    python docs/check_site.py docs/_build/html [--browser PATH]
"""

import argparse
import ast
import json
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request, sync_playwright

WIDTHS = (400, 768, 1024, 1280, 1440, 1920)  # of the window: phone, tablets, laptops, screens
HIGHEST = 16_000  # pixels of a page in a window of NORMAL
NORMAL = 1280
HEIGHT = 800
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
GENERATED = ("genindex", "search", "py-modindex")
# A figure is mounted when it comes near the viewport.
# The widest elements tell what to fix.
TOO_WIDE = """() => {
    const most = document.documentElement.clientWidth;
    const wide = document.documentElement.scrollWidth;
    if (wide <= most) return null;
    const right = (element) => element.getBoundingClientRect().right;
    const beyond = [...document.body.querySelectorAll("*")].filter((e) => right(e) > most + 0.5);
    const named = beyond.slice(0, 3).map((e) => [e.localName, ...e.classList].join("."));
    return `is ${wide} pixels wide in a window of ${most}: ${named.join(", ")}`;
}"""
MOUNTED = """async () => {
    for (const figure of document.querySelectorAll(".sparsewood-live")) {
        figure.scrollIntoView();
        for (let tries = 0; !figure.sparsewood && tries < 100; tries += 1)
            await new Promise((done) => setTimeout(done, 50));
        if (!figure.sparsewood) return false;
    }
    return true;
}"""


class Links(HTMLParser):
    """The anchors and the link targets of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.title = ""
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self._in_title = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if known.get("id"):
            self.ids.add(known["id"] or "")
        self.targets += [known[name] or "" for name in ("href", "src") if known.get(name)]
        self._in_title |= tag == "title" and not self.title

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title, self._in_title = data.strip(), False


def broken_links(pages: dict[Path, Links]) -> Iterator[str]:
    """What a link inside the site fails to find: a file, or an anchor in a page."""
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            found = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not found.exists():
                yield f"{path.name}: {target} is not there"
                continue
            place = unquote(parts.fragment)
            if place and found in pages and place not in pages[found].ids:
                yield f"{path.name}: {target}: no such place"


def broken_downloads(site: Path) -> Iterator[str]:
    """What keeps a download of the gallery from running as it stands."""
    for path in sorted((site / "_downloads").rglob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = [_source(cell) for cell in cells if cell["cell_type"] == "code"]
        text = [_source(cell) for cell in cells if cell["cell_type"] != "code"]
        programs = list((site / "_downloads").rglob(f"{path.stem}.py"))
        if len(programs) != 1:
            yield f"{path.name}: expected a program of this name, found {len(programs)}"
        elif _statements("\n".join(code)) != _statements(programs[0].read_text(encoding="utf-8")):
            yield f"{path.name} and {programs[0].name} have different code"
        if any("<img" in part or "](" in part for part in text):
            yield f"{path.name} refers to a file that is not beside it"


def _source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _statements(code: str) -> list[str]:
    """The statements of a program, without a docstring."""
    return [
        ast.dump(line)
        for line in ast.parse(code).body
        if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
    ]


def complaints(page: Page, paths: list[Path], heights: dict[Path, int]) -> Iterator[str]:
    """The errors of each page in a browser; notes how high the pages are."""
    heard: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            heard.append(f"said {message.text}")

    def asked(request: Request) -> None:
        if urlsplit(request.url).scheme not in ("file", "data", "blob"):
            heard.append(f"asked for {request.url[:200]}")

    page.on("console", said)
    page.on("request", asked)
    page.on("pageerror", lambda error: heard.append(f"failed: {error}"))
    page.on("requestfailed", lambda request: heard.append(f"did not find {request.url[:200]}"))
    for path in paths:
        page.goto(path.as_uri())
        if not page.evaluate(MOUNTED):
            heard.append("has a live figure that is not mounted")
        heard += too_wide(page)
        page.set_viewport_size({"width": NORMAL, "height": HEIGHT})
        heights[path] = page.evaluate("document.documentElement.scrollHeight")
        if heights[path] > HIGHEST:
            heard.append(f"is {heights[path]} pixels high: split it")
        yield from (f"{path.name} {complaint}" for complaint in heard)
        heard.clear()


def too_wide(page: Page) -> Iterator[str]:
    """The window widths at which a page scrolls sideways, and the elements that stick out."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        if problem := page.evaluate(TOO_WIDE):
            yield str(problem)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("site", type=Path, help="folder with index.html")
    parser.add_argument("--browser", help="Chromium-based browser (default: one on the path)")
    options = parser.parse_args()
    site = options.site.resolve()
    pages = {path: Links(path) for path in sorted(site.rglob("*.html"))}
    if not pages:
        parser.error(f"no pages in {site}")
    wrong = [*broken_links(pages), *broken_downloads(site)]
    heights: dict[Path, int] = {}
    browser = options.browser or next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = launched.new_page(viewport={"width": WIDTHS[0], "height": HEIGHT})
        wrong += complaints(page, list(pages), heights)
        launched.close()
    for path, links in pages.items():
        if path.stem not in GENERATED:
            print(f"{path.relative_to(site).as_posix():44} {heights[path]:6} {links.title}")
    print(f"{len(pages)} pages, {sum(len(p.targets) for p in pages.values())} links")
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
