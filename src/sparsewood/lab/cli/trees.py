"""`sparsewood trees`: draw the trees that a model selects for sentences."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
import tyro

from sparsewood.draw import Drawing, Format
from sparsewood.lab._memory import of_sentences, told_if_out_of_memory
from sparsewood.lab.cli._endings import form_of
from sparsewood.lab.cli._inputs import Files, check_arguments, lines_of
from sparsewood.lab.cli._options import Group, parse_options
from sparsewood.lab.cli._output import Output
from sparsewood.lab.cli._runs import at_least, open_model, set_temperature
from sparsewood.lab.cli._sentences import require_heads, with_heads
from sparsewood.lab.cli._tally import Tally
from sparsewood.lab.data import Example, Sentence
from sparsewood.lab.run.gallery import side_sheet, sides_of
from sparsewood.lab.tasks import TASKS, Model
from sparsewood.lab.tasks.metrics import Output as Answered
from sparsewood.lab.tasks.solved import live_side, solved_for

_ENDINGS = {
    ".txt": "text",
    ".svg": "svg",
    ".html": "html,live",
    ".htm": "html,live",
    ".tex": "tikz",
    ".tikz": "tikz",
    ".conllu": "conllu",
    **dict.fromkeys((".csv", ".tsv", ".json", ".jsonl", ".pdf", ".png")),
}
_ONE = ("svg", "html", "live")  # formats that hold one figure per file


@dataclass(frozen=True)
class TreesOptions:
    """What to draw, and how.

    Attributes:
        model: folder of a run or a model.
        sentences: sentences in quotation marks, files, or - for standard input. A file has one
            sentence per line or a column of them.
        format: output format. Default: from the ending of --out, otherwise text. "live" is a page
            that solves again when temperature or scores are changed.
        out: output file.
        most: maximum number of trees to draw, the most probable first.
        temperature: temperature to use instead of the model's; a lower one keeps fewer trees.
        parser: parser to compare with: "spacy", "spacy:PIPELINE" or a folder. Its arcs are marked.
    """

    model: tyro.conf.Positional[Path]
    sentences: tyro.conf.Positional[tuple[str, ...]] = ()
    format: Literal[Format, "live"] | None = None
    out: Path | None = None
    most: int | None = None
    temperature: float | None = None
    parser: str | None = None


def main(args: list[str]) -> None:
    """Draw the trees, the most probable first."""
    options, files = parse_options(
        "sparsewood trees",
        args,
        [Group("drawing", TreesOptions), Group("files", Files)],
        "Show the trees that a model selects for sentences, with their probabilities.",
        'sparsewood trees runs/sst-sparsemap-1 "a gripping film" --format svg --out film.svg',
    )
    at_least(1, most=options.most)
    if not options.sentences:
        raise ValueError("expected a sentence in quotation marks, a file, or - for standard input")
    options = replace(options, format=_form(options))
    if options.format == "live" and options.most is not None:
        raise ValueError("--most: does not apply to a live figure, which has a slider")
    check_arguments(options.sentences, files)
    out = Output(options.out, options.sentences)
    model = open_model(options.model)
    set_temperature(model, options.temperature)
    lines = list(lines_of(options.sentences, 1, files, model.sentence_of))
    if options.format in _ONE and len(lines) > 1:
        raise ValueError(f"--format {options.format}: holds one sentence, got {len(lines)}")
    sentences = with_heads([side for line in lines for side in line.sides], options.parser)
    require_heads(sentences, model)
    tally = Tally()
    with out:
        for sentence in sentences:
            side = _side(model, sentence, scored=options.format == "live")
            tally.add([side])
            out.print(_drawn(model, sentence, side, options))
    tally.tell()


def _form(options: TreesOptions) -> Any:
    """The output format: that of --format, or else of the ending of --out."""
    return form_of(options.out, _ENDINGS, options.format, f"--format {options.format}")


def _side(model: Model, sentence: Sentence, *, scored: bool) -> dict[str, Any]:
    solved = []
    too_long = f"{of_sentences(1, len(sentence.words))}; leave it out"
    with told_if_out_of_memory(lambda: too_long), torch.no_grad():
        posterior = model.posterior([sentence])
        if scored:
            batch = model.encode([Example((sentence,))]).batch([0])
            solved = solved_for(model, model.problems(batch), 0)
    answered = Answered(None, posterior.weights, (posterior,))
    (side,) = sides_of([sentence], answered, 0, solved)
    return {**side, "unknown": model.unknown(sentence.words)}


def _drawn(model: Model, sentence: Sentence, side: dict[str, Any], options: TreesOptions) -> str:
    variant = TASKS[model.task].variant(model.options)
    if not side["trees"]:
        raise ValueError(f"{options.model}: a model with the {variant} has no trees")
    given = None if model.reads_heads else sentence.compared
    form = "html" if options.format == "live" else options.format or "text"
    if options.format == "live":
        figure = live_side(side, given)
        if figure is not None:
            return figure.page()
        print(f"the {variant} has no scores to change: the picture is not live", file=sys.stderr)
    sheet = side_sheet(side, given, most=options.most, ended=True)
    drawing = Drawing(sheet).to(form).rstrip("\n")
    # An empty line ends a sentence of CoNLL-U, and sets drawings in the terminal apart.
    return drawing + "\n" * (options.format in ("conllu", "text"))
