"""`sparsewood predict`: predict labels of sentences, with probabilities and trees."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from sparsewood.draw import Drawing
from sparsewood.lab.cli._endings import form_of
from sparsewood.lab.cli._inputs import Files, check_arguments, is_interactive, lines_of
from sparsewood.lab.cli._options import Group, parse_options
from sparsewood.lab.cli._output import Output, as_lines
from sparsewood.lab.cli._predictions import ENDINGS, TABLES, PredictionTable, as_json, as_list
from sparsewood.lab.cli._runs import at_least, open_model, set_temperature
from sparsewood.lab.cli._sentences import Answer, answer
from sparsewood.lab.cli._tally import Tally
from sparsewood.lab.run.distributed import choose_device
from sparsewood.lab.run.gallery import side_sheet, sides_of
from sparsewood.lab.tasks import TASKS, TreeModel

_LABELS = 3  # labels in text output, and of a reverse dictionary


@dataclass(frozen=True)
class PredictOptions:
    """What to label, and what to print.

    Attributes:
        model: folder of a run or a model.
        sentences: sentences in quotation marks, files, or - for standard input (the default). A
            pair is two arguments, or one with a tab. A file has one sentence per line or a column
            of them.
        out: output file; .csv and .tsv are tables with one row per example, .jsonl and .json hold
            what --json prints, others text.
        json: print one line of JSON per example, with all labels.
        labels: number of labels to print. Default: three in text. With the target "labels", all
            predicted ones are always printed.
        draw: number of trees to draw; 0 for none.
        temperature: temperature to use instead of the model's; a lower one keeps fewer trees.
        parser: parser for a model that reads given trees: "spacy", "spacy:PIPELINE" or a folder.
        device: device; "auto" uses a GPU if there is one.
    """

    model: tyro.conf.Positional[Path]
    sentences: tyro.conf.Positional[tuple[str, ...]] = ()
    out: Path | None = None
    json: bool = False
    labels: int | None = None
    draw: int = 1
    temperature: float | None = None
    parser: str | None = None
    device: Literal["auto", "cpu", "cuda"] = "auto"


def main(args: list[str]) -> None:
    """Print the prediction for each sentence."""
    options, files = parse_options(
        "sparsewood predict",
        args,
        [Group("prediction", PredictOptions), Group("files", Files)],
        "Label sentences. A reverse dictionary answers with words.",
        "sparsewood predict runs/sst-sparsemap-1 reviews.csv --text review --out said.csv",
    )
    at_least(1, labels=options.labels)
    at_least(0, draw=options.draw)
    check_arguments(options.sentences, files)
    form = _form(options)
    out = Output(options.out, options.sentences, as_list if form == "json" else as_lines)
    model = open_model(options.model).to(choose_device(options.device))
    if not isinstance(model, TreeModel):
        raise ValueError(
            f"{options.model}: a model for {model.task} has no labels; draw its trees with "
            f"sparsewood trees {options.model} SENTENCE"
        )
    if options.labels is not None and not model.labels:
        raise ValueError(f"--labels: a model for {model.task} answers with a number")
    if options.labels is not None and form in TABLES and not TASKS[model.task].few:
        raise ValueError(f"--labels: {options.out} has a column for every label; leave it out")
    set_temperature(model, options.temperature)
    lines = lines_of(options.sentences, len(TASKS[model.task].sides), files, model.sentence_of)
    interactive = is_interactive(options.sentences)
    if interactive:
        print("One sentence per line; Ctrl-D ends.", file=sys.stderr)
    table = PredictionTable(model, form, options.labels or _LABELS) if form in TABLES else None
    tally = Tally()
    with out:
        if table is not None:
            out.print(table.head())
        for found in answer(model, lines, options.parser, one_by_one=interactive):
            told = describe(model, found, _count(model, options, form))
            tally.add(told["sides"])
            if table is not None:
                out.print(table.row(told, found.texts))
            elif form == "text":
                out.print(as_text(told, TASKS[model.task].form or "{}", options.draw))
            else:
                out.print(as_json(told))
    tally.tell()


def _form(options: PredictOptions) -> str:
    """The output format, from the ending of --out or from --json; --json allows .json as well."""
    listed = options.out is not None and options.out.suffix.lower() == ".json"
    asked = "jsonl" if options.json and not listed else None
    return form_of(options.out, ENDINGS, asked, "--json")


def _count(model: TreeModel, options: PredictOptions, form: str) -> int:
    """How many labels to print."""
    if options.labels is not None:
        return options.labels
    return len(model.labels) if form != "text" and not TASKS[model.task].few else _LABELS


def describe(model: TreeModel, found: Answer, k: int) -> dict[str, Any]:
    """The answer to one example as JSON."""
    prediction = model.answers(found.output, found.i, k)
    told: dict[str, Any] = {**model.verdict(prediction), "prediction": prediction}
    told["sides"] = sides_of(found.example.sentences, found.output, found.i)
    for side in told["sides"]:
        side["unknown"] = model.unknown(side["words"])
    return told | ({"where": found.line.where} if found.line.where else {})


def as_text(told: dict[str, Any], form: str, trees: int) -> str:
    """The answer as text: labels with their numbers in this format, and some of the trees."""
    labels = "  ".join(f"{label} {form.format(p)}" for label, p in told["prediction"].items())
    lines = [f"{told['where']}: {labels}" if "where" in told else labels]
    for side in told["sides"]:
        if trees < 1 or not side["trees"]:
            lines.append("  " + " ".join(side["words"]))
            continue
        drawing = Drawing(side_sheet(side, most=trees)).to("text")
        lines += ["", *(f"  {line}".rstrip() for line in drawing.splitlines())]
        lines += [f"  {text}" for text in _rest(side, trees)]
    return "\n".join([*lines, ""])


def _rest(side: dict[str, Any], shown: int) -> list[str]:
    """Remarks below the drawing of `shown` trees."""
    more = len(side["trees"]) - shown
    status = side.get("status", "solved")
    doubt = "" if status == "solved" else f"not certified: {status}, gap {side['gap']:.2g}"
    return [text for text in (f"and {more} more" if more > 0 else "", doubt) if text]
