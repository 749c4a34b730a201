"""A browser for tests of pages, which records errors and requests to other machines."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_LOCAL = ("127.0.0.1", "localhost")


def open_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, _NAMES)), None)
        path = Path(found or playwright.chromium.executable_path)
        if not path.exists():
            pytest.skip(f"no browser: none of {', '.join(_NAMES)} is on the PATH")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def watched_page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    complaints: list[str] = []

    def hear(said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            complaints.append(f"said: {said.text}")

    def see(asked: Request) -> None:
        if _leaves(asked.url):
            complaints.append(f"asked for {asked.url[:200]}")

    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("console", hear)
    page.on("request", see)
    yield page
    page.close()
    assert not complaints, "\n".join(complaints)


def _leaves(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in _LOCAL
