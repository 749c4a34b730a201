"""A report read back as HTML."""

from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "br", "link", "img"}


class Page(HTMLParser):
    """Checks that tags are balanced; keeps text, rows of tables and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if "tr" in self.open and self.rows[-1]:
            self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(self.texts)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)

    def row(self, name: str, nth: int = 0) -> list[str]:
        """The row of this name in the table of results, and with `nth` 1 in that of costs."""
        return [row for row in self.rows if row and row[0].startswith(name)][nth]


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))
