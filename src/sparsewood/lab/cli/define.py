"""`sparsewood define`: find words for a description."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from sparsewood.lab.cli._inputs import Files, check_arguments, is_folder, lines_of
from sparsewood.lab.cli._options import Group, parse_options
from sparsewood.lab.cli._runs import RUNS, at_least, open_model
from sparsewood.lab.cli._sentences import answer
from sparsewood.lab.tasks import ReverseDictionary

_BAR = 20  # characters for a cosine of 1
_HOW = (
    "train one with: sparsewood train revdict (it finds WordNet and the vectors "
    "of the extra [words] itself)"
)


@dataclass(frozen=True)
class DefineOptions:
    """What to look up.

    Attributes:
        descriptions: descriptions in quotation marks, files, or - for standard input. The folder of
            a run or a model may come first; the default is the newest run of revdict in runs/.
        words: number of words to print.
        json: print one line of JSON per description.
        parser: parser for a model that reads given trees: "spacy", "spacy:PIPELINE" or a folder.
    """

    descriptions: tyro.conf.Positional[tuple[str, ...]] = ()
    words: int = 10
    json: bool = False
    parser: str | None = None


def main(args: list[str]) -> None:
    """Print the nearest words."""
    (options,) = parse_options(
        "sparsewood define",
        args,
        [Group("lookup", DefineOptions)],
        "Reverse dictionary: find words for a description.",
        'sparsewood define "a small wood"',
    )
    at_least(1, words=options.words)
    texts = list(options.descriptions)
    named = bool(texts) and is_folder(texts[0])
    if not named and len(texts) > 1 and "/" in texts[0] and " " not in texts[0]:
        raise ValueError(f"{texts[0]}: no such folder of a run or a model")
    folder = Path(texts.pop(0)) if named else None
    if named and not texts:
        raise ValueError(f"{folder}: expected a description after the folder")
    check_arguments(texts, Files())
    folder = folder or newest_dictionary(RUNS)
    model = open_model(folder)
    if not isinstance(model, ReverseDictionary):
        raise ValueError(f"{folder}: is a model for {model.task}, not a reverse dictionary; {_HOW}")
    lines = lines_of(texts, 1, Files(), model.sentence_of)
    for found in answer(model, lines, options.parser, one_by_one=True):
        i, prediction = found.i, found.output.prediction
        nearest = model.nearest(prediction[i : i + 1], options.words)[0]
        words = found.example.sentences[0].words
        told = {"text": " ".join(words), "words": dict(nearest), "unknown": model.unknown(words)}
        if options.json:
            print(json.dumps(told, ensure_ascii=False))
        else:
            show(told, Console(highlight=False))


def show(told: Mapping[str, Any], console: Console) -> None:
    """Print an answer as a table: the words by rank, each with its cosine and a bar."""
    console.print(f"\n{escape(told['text'])}", soft_wrap=True)
    if told["unknown"]:
        listed = ", ".join(dict.fromkeys(told["unknown"]))
        console.print(f"unknown words: {escape(listed)}", soft_wrap=True)
    table = Table(Column("", justify="right"), "word", Column("cosine", justify="right"), "")
    table.box, table.pad_edge = SIMPLE_HEAD, False
    for rank, (word, cosine) in enumerate(told["words"].items(), 1):
        bar = "█" * round(_BAR * max(0.0, cosine))
        table.add_row(str(rank), escape(word), f"{cosine:.3f}", bar)
    console.print(table)


def _task_in(config: Path) -> object:
    """The task in a model's config.json; None if the file has none."""
    try:
        return json.loads(config.read_text(encoding="utf-8"))["task"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def newest_dictionary(runs: Path) -> Path:
    """The reverse dictionary below `runs` whose run finished last."""
    finished = [
        config.parent.parent
        for config in runs.rglob("model/config.json")
        if _task_in(config) == ReverseDictionary.task
    ]
    if not finished:
        raise ValueError(f"no run of a reverse dictionary in {runs}/; {_HOW}")
    return max(finished, key=lambda run: (run / "model").stat().st_mtime)
