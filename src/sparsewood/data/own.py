"""A user's own data: which reader a file is for."""

from collections.abc import Sequence
from pathlib import Path

from sparsewood.data._lines import full_lines
from sparsewood.data._split import hold_out
from sparsewood.data.columns import read_columns, read_plain
from sparsewood.data.conllu import read_conllu
from sparsewood.data.examples import Example
from sparsewood.data.heads_file import has_heads_form, read_heads_file
from sparsewood.data.hub import PREFIX, read_hub

_DEFAULTS = ("label", "text", "text2")


def read_own_splits(
    train: str,
    validation: str | None,
    test: str | None,
    label: str | None,
    texts: Sequence[str | None],
    seed: int,
) -> dict[str, list[Example]]:
    """The splits of files, or of data sets of the hub, given by name.

    A data set of the hub that is named for training brings its own other splits. Where there is no
    validation split a tenth of the training split, drawn by the seed, is held out.
    """
    splits: dict[str, list[Example]] = {}
    for split, name in (("train", train), ("validation", validation), ("test", test)):
        if name is None:
            continue
        if name.startswith(PREFIX):
            hub = read_hub(name, *_names(label, texts))
            if split not in hub:
                raise ValueError(f"{name}: no split {split!r}; the splits are {', '.join(hub)}")
            splits |= hub if split == "train" else {split: hub[split]}
        else:
            splits[split] = read_own(Path(name), label, texts)
    if "validation" not in splits:
        splits |= hold_out(splits["train"], seed)
        if not splits["validation"]:
            raise ValueError(f"{train}: too few examples to hold any out: name validation data")
    return splits


def read_own(path: Path, label: str | None, texts: Sequence[str | None]) -> list[Example]:
    """The examples of a file in one of these forms.

    CoNLL-U (`.conllu`, labelled by comments; single sentences only), JSON lines (`.jsonl`), CSV
    with a header (`.csv`), and with tabs between the columns: with a header, if columns are named
    or the first line has the default names; `label tokens heads` if the first line has that form;
    else `label text [text2]`.

    Args:
        path: the file.
        label: the column of the labels; None for "label" where there are names.
        texts: those of one or two sentences; None for "text" and "text2".

    Raises:
        ValueError: if there is no such file, at the first wrong line, or if there is no example.
    """
    if not path.is_file():
        problem = "a folder; expected a file" if path.is_dir() else "no such file"
        raise ValueError(f"{path}: {problem} of examples")
    examples = _read(path, label, texts)
    if not examples:
        raise ValueError(f"{path}: no examples in this file")
    return examples


def _read(path: Path, label: str | None, texts: Sequence[str | None]) -> list[Example]:
    suffix = path.suffix.lower()
    if suffix == ".conllu":
        if len(texts) > 1:
            raise ValueError(f"{path}: CoNLL-U holds no pairs of sentences")
        return read_conllu(path)
    names = _names(label, texts)
    is_named = label is not None or any(text is not None for text in texts)
    if is_named or suffix in (".csv", ".jsonl"):
        return read_columns(path, *names)
    first = next(full_lines(path), (0, ""))[1]
    if {names[0], *names[1]} <= set(first.split("\t")):
        return read_columns(path, *names)
    if len(texts) == 1 and has_heads_form(first):
        return read_heads_file(path)
    return read_plain(path, len(texts))


def _names(label: str | None, texts: Sequence[str | None]) -> tuple[str, list[str]]:
    defaults = _DEFAULTS[1 : 1 + len(texts)]
    return label or _DEFAULTS[0], [t or d for t, d in zip(texts, defaults, strict=True)]
