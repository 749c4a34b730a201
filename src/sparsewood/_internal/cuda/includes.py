"""Expands includes and strips comments of C++. `native/web/build_wasm.py` runs this file alone."""

import re
from collections.abc import Iterator
from pathlib import Path

_INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)
# A literal (group 1) may contain comment markers; ' between digits does not begin one.
_LITERAL = r"""("(?:\\.|[^"\\\n])*"|(?<![\da-fA-F])'(?:\\.|[^'\\\n])*')"""
_COMMENT = r"[ \t]*(?://(?:\\\n|[^\n])*|/\*.*?\*/)[ \t]*"
_LITERAL_OR_COMMENT = re.compile(f"{_LITERAL}|{_COMMENT}", re.DOTALL)


def as_compiled(source: str, *folders: Path) -> str:
    """The headers that `source` includes from `folders`, each once, followed by `source`.

    Without comments, blank lines and indentation, which do not affect the compiled code.
    """
    return "\n".join(_expanded(source, None, folders, set()))


def _expanded(
    source: str, beside: Path | None, folders: tuple[Path, ...], known: set[Path]
) -> Iterator[str]:
    text = _without_comments(source)
    for name in _INCLUDE.findall(text):
        places = (folder / name for folder in (beside, *folders) if folder is not None)
        path = next((place.resolve() for place in places if place.is_file()), None)
        if path is not None and path not in known:
            known.add(path)
            yield from _expanded(path.read_text(encoding="utf-8"), path.parent, folders, known)
    yield text


def _without_comments(source: str) -> str:
    text = _LITERAL_OR_COMMENT.sub(lambda m: m[1] or " ", source)
    return "\n".join(filter(None, (line.strip() for line in text.split("\n"))))
