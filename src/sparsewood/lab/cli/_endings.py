"""What the ending of --out says of the form that is written."""

from collections.abc import Mapping
from pathlib import Path


def form_of(
    out: Path | None, endings: Mapping[str, str | None], form: str | None = None, asked: str = ""
) -> str:
    """The form of the file `out`, or of standard output: by its ending, or as asked for.

    Args:
        out: the file; None for standard output.
        endings: the forms that an ending such as ".csv" stands for, with commas between several,
            the first being the default; None for one that the command cannot write.
        form: what was asked for; None: nothing was.
        asked: the option that asked for it, for messages.

    Raises:
        ValueError: where the two contradict each other, or nothing of that ending can be written.
    """
    ending = "" if out is None else out.suffix.lower()
    if ending not in endings:
        return form or "text"
    named = endings[ending]
    if named is None:
        known = ", ".join(end for end, forms in endings.items() if forms is not None)
        raise ValueError(f"--out: {out}: expected a name that ends in {known}, or in no known way")
    forms = named.split(",")
    if form is not None and form not in forms:
        raise ValueError(
            f"{asked}: contradicts --out {out}, which is written as {' or '.join(forms)} because "
            f"of its ending; leave out one of them"
        )
    return form or forms[0]
