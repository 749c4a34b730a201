"""User data: selects the reader of a file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sparsewood.lab.data._lines import full_lines
from sparsewood.lab.data._split import hold_out
from sparsewood.lab.data.columns import read_columns, read_plain
from sparsewood.lab.data.conllu import read_conllu
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.heads_file import has_heads_form, read_heads_file
from sparsewood.lab.data.hub import PREFIX, read_hub
from sparsewood.lab.data.read_options import STRICT, ReadOptions
from sparsewood.lab.data.text import is_number

_MANY = 20  # fewer labels than this are accepted as classes
_DEFAULTS = ("label", "text", "text2")


def read_own_splits(
    train: str,
    validation: str | None,
    test: str | None,
    label: str | None,
    texts: Sequence[str | None],
    seed: int,
    how: ReadOptions = STRICT,
) -> dict[str, list[Example]]:
    """The splits of files, or of data sets of the hub, given by name.

    A data set of the hub for training also provides its other splits. Without a validation split, a
    random tenth of the training split is held out.
    """
    splits: dict[str, list[Example]] = {}
    for split, name in (("train", train), ("validation", validation), ("test", test)):
        if name is None:
            continue
        if name.startswith(PREFIX):
            hub = read_hub(name, *_names(label, texts), how)
            if split not in hub:
                raise ValueError(f"{name}: no split {split!r}; the splits are {', '.join(hub)}")
            splits |= hub if split == "train" else {split: hub[split]}
        else:
            splits[split] = read_own(Path(name), label, texts, how)
    if how.target == "class" and (problem := label_problem(splits["train"])):
        raise ValueError(f"{train}: {problem}")
    if "validation" not in splits:
        splits |= hold_out(splits["train"], seed, how.target)
        if not splits["validation"]:
            raise ValueError(f"{train}: too few examples to hold any out; pass validation data")
    return splits


def label_problem(examples: Sequence[Example]) -> str | None:
    """Why the labels are unlikely to be classes; None if they are fine."""
    labels = {example.label for example in examples}
    if len(labels) < _MANY or 2 * len(labels) <= len(examples):
        return None
    numbers = all(map(is_number, labels))
    kind = "numbers" if numbers else "labels"
    return (
        f"the labels are {len(labels):,} different {kind} in {len(examples):,} examples; expected "
        "classes with several examples each: is it the right column (--label)?"
        + " --target number learns numbers."
        * numbers
    )


def read_own(
    path: Path, label: str | None, texts: Sequence[str | None], how: ReadOptions = STRICT
) -> list[Example]:
    """The examples of a file in one of these forms.

    CoNLL-U (`.conllu`, labelled by comments; single sentences only), JSON lines (`.jsonl`), CSV
    with a header (`.csv`), and with tabs between the columns: with a header if columns are named or
    the first line has the default names; `label tokens heads` if the first line has that form; else
    `label text [text2]`. With another delimiter and one text, the first delimiter ends the label
    and the rest is the text.

    Args:
        path: the file.
        label: the column of the labels; None for "label" if columns have names.
        texts: those of one or two sentences; None for "text" and "text2".
        how: encoding, delimiter and bad rows; a warning lists those that are skipped.

    Raises:
        ValueError: if there is no such file, at the first malformed line, or if there are no
            examples.
    """
    if not path.is_file():
        problem = "a folder; expected a file" if path.is_dir() else "no such file"
        raise ValueError(f"{path}: {problem} of examples")
    how = replace(how, skipped=[])
    examples = _read(path, label, texts, how)
    if not examples:
        why = f"; all {len(how.skipped)} rows are bad: {how.skipped[0]}" if how.skipped else ""
        raise ValueError(f"{path}: no examples in this file{why}")
    how.tell_skipped(str(path), len(examples))
    return examples


def _read(
    path: Path, label: str | None, texts: Sequence[str | None], how: ReadOptions
) -> list[Example]:
    suffix = path.suffix.lower()
    if suffix == ".conllu":
        if len(texts) > 1:
            raise ValueError(f"{path}: CoNLL-U files have no pairs of sentences")
        return read_conllu(path, how)
    names = _names(label, texts)
    is_named = label is not None or any(text is not None for text in texts)
    if is_named or suffix in (".csv", ".jsonl"):
        return read_columns(path, *names, how)
    first = next(full_lines(path, replace(how, skipped=[])), (0, ""))[1]
    if _is_header(first, [names[0], *names[1]], how.delimiter or "\t"):
        return read_columns(path, *names, how)
    if len(texts) == 1 and how.delimiter is None and has_heads_form(first):
        return read_heads_file(path, how=how)
    return read_plain(path, len(texts), how)


def _is_header(line: str, names: Sequence[str], delimiter: str) -> bool:
    """Whether a line names these columns; with spaces as delimiter, only these, as it may be a
    sentence.
    """
    cells = line.split(delimiter)
    return set(names) <= set(cells) and (delimiter != " " or len(cells) == len(names))


def _names(label: str | None, texts: Sequence[str | None]) -> tuple[str, list[str]]:
    defaults = _DEFAULTS[1 : 1 + len(texts)]
    return label or _DEFAULTS[0], [t or d for t, d in zip(texts, defaults, strict=True)]
