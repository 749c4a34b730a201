"""The ending of a file says what is written, or contradicts what was asked for."""

from pathlib import Path

import pytest

from sparsewood.lab.cli._endings import form_of

ENDINGS = {".csv": "csv", ".html": "html,live", ".pdf": None}


@pytest.mark.parametrize(
    ("name", "form", "expected"),
    [
        (None, None, "text"),
        (None, "live", "live"),
        ("a.CSV", None, "csv"),
        ("a.csv", "csv", "csv"),
        ("a.html", None, "html"),
        ("a.html", "live", "live"),
        ("a", "csv", "csv"),
        ("a.said", None, "text"),
    ],
)
def test_the_form(name: str | None, form: str | None, expected: str) -> None:
    assert form_of(None if name is None else Path(name), ENDINGS, form) == expected


def test_contradictions() -> None:
    message = "^--format svg: contradicts --out a.html, which is written as html or live"
    with pytest.raises(ValueError, match=message):
        form_of(Path("a.html"), ENDINGS, "svg", "--format svg")
    with pytest.raises(ValueError, match="^--out: a.pdf: expected .* ends in .csv, .html, or"):
        form_of(Path("a.pdf"), ENDINGS)
