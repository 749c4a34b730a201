"""The outputs and pictures of the quickstart are those of its code.

`python -m tests.docs.test_quickstart` runs the page and writes what it shows.
"""

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "quickstart.md"
SHOWN = r"(?:\n```text\n(?P<shown>.*?)^```\n)?"
BLOCK = re.compile(rf"^```python\n(?P<code>.*?)^```\n{SHOWN}", re.M | re.S)


def outputs(text: str, folder: Path) -> Iterator[tuple[re.Match[str], str]]:
    """Each block of the page and what it prints, run one after the other in `folder`."""
    names: dict[str, Any] = {}
    for block in BLOCK.finditer(text):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.chdir(folder):
            exec(block["code"], names)
        # Spaces at the ends of lines would be lost in an editor.
        yield block, re.sub(r" +$", "", out.getvalue(), flags=re.M)


def test_the_page_shows_what_its_code_prints(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    ran = list(outputs(text, tmp_path))
    for block, printed in ran:
        assert (block["shown"] or "") == printed, block["code"]
    assert sum(bool(printed) for _, printed in ran) >= 5
    pictures = re.findall(r"!\[.+?\]\((.+?)\)", text)
    assert sorted(pictures) == sorted(path.name for path in tmp_path.iterdir())
    for name in pictures:
        assert (tmp_path / name).read_text("utf-8") == (DOCS / name).read_text("utf-8")


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        for block, printed in outputs(text, Path(folder)):
            if printed:
                code = f"```python\n{block['code']}```\n"
                text = text.replace(block[0], f"{code}\n```text\n{printed}```\n")
        for picture in Path(folder).iterdir():
            picture.replace(DOCS / picture.name)
    new = PAGE.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(PAGE)


if __name__ == "__main__":
    main()
