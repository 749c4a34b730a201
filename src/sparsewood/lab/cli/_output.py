"""Where the lines of a command go: to standard output, or to a file that is there in full."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from sparsewood.lab._files import write_text
from sparsewood.lab.cli._inputs import is_file
from sparsewood.lab.cli._runs import writable_file


def as_lines(kept: Sequence[str]) -> str:
    """Each of them with a line feed."""
    return "".join(f"{text}\n" for text in kept)


class Output:
    """Prints lines; with a path, keeps them and writes the file at the end, if all went well.

    Args:
        path: of the file; None for standard output.
        read: what may name files that are read, none of which can be `path`.
        join: makes the text of the file of the lines.

    Raises:
        ValueError: if no file can be written there.
    """

    def __init__(
        self,
        path: Path | None,
        read: Sequence[str] = (),
        join: Callable[[Sequence[str]], str] = as_lines,
    ) -> None:
        self._path, self._kept, self._join = path, list[str](), join
        if path is None:
            return
        writable_file(path)
        if path.exists() and any(is_file(r) and path.samefile(r) for r in read):
            raise ValueError(f"--out: {path} is one of the files that are read")

    def print(self, text: str) -> None:
        """One line or several."""
        if self._path is None:
            print(text, flush=True)
        else:
            self._kept.append(text)

    def __enter__(self) -> "Output":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._path is not None and kind is None:
            write_text(self._path, self._join(self._kept))
            print(f"written: {self._path}", file=sys.stderr)
