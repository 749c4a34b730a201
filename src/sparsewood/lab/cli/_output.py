"""The output of a command: standard output, or a file that is written as a whole."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from sparsewood.lab._files import write_text
from sparsewood.lab.cli._inputs import is_file
from sparsewood.lab.cli._runs import writable_file


def as_lines(kept: Sequence[str]) -> str:
    """The lines as one text."""
    return "".join(f"{text}\n" for text in kept)


class Output:
    """Prints lines, or collects them and writes a file at the end unless there was an error.

    Args:
        path: the file; None for standard output.
        read: arguments that may name input files; `path` must not be among them.
        join: joins the lines into the text of the file.

    Raises:
        ValueError: if the file cannot be written.
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
            raise ValueError(f"--out: {path} is one of the input files")

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
