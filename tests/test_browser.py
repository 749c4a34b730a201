"""The monitored page detects errors and requests."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser import watched_page


def test_a_quiet_page_passes(page: Page, tmp_path: Path):
    file = tmp_path / "quiet.html"
    file.write_text("<!DOCTYPE html><title>quiet</title><p>hello", encoding="utf-8")
    page.goto(file.as_uri())
    assert page.inner_text("p") == "hello"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<script>throw new Error('oh')</script>", "error: oh"),
        ("<script>console.error('oh')</script>", "said: oh"),
        ("<img src='http://sparsewood.invalid/a.png'>", "asked for http://sparsewood.invalid"),
    ],
)
def test_errors_and_requests_are_noticed(
    browser: Browser, tmp_path: Path, content: str, expected: str
):
    file = tmp_path / "loud.html"
    file.write_text(f"<!DOCTYPE html><title>loud</title>{content}", encoding="utf-8")
    watched = watched_page(browser)
    next(watched).goto(file.as_uri())
    with pytest.raises(AssertionError, match=expected):
        next(watched)
