"""The output format that the ending of --out selects."""

from collections.abc import Mapping
from pathlib import Path


def form_of(
    out: Path | None, endings: Mapping[str, str | None], form: str | None = None, asked: str = ""
) -> str:
    """The format of the file `out`, or of standard output: by its ending, or as requested.

    Args:
        out: the file; None for standard output.
        endings: the formats of an ending such as ".csv", comma-separated, the default first; None
            if the command cannot write it.
        form: the requested format, if any.
        asked: the option that requested it, for messages.

    Raises:
        ValueError: if the two contradict each other, or the command cannot write a file with that
            ending.
    """
    ending = "" if out is None else out.suffix.lower()
    if ending not in endings:
        return form or "text"
    named = endings[ending]
    if named is None:
        known = ", ".join(end for end, forms in endings.items() if forms is not None)
        raise ValueError(
            f"--out: {out}: expected a name that ends in {known}, or one with an unknown ending"
        )
    forms = named.split(",")
    if form is not None and form not in forms:
        raise ValueError(
            f"{asked}: contradicts --out {out}, which is written as {' or '.join(forms)} because "
            f"of its ending; leave out one of them"
        )
    return form or forms[0]
