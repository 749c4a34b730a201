"""`sparsewood predict`: labels, probabilities and trees of sentences."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from sparsewood.cli._options import Group, parse
from sparsewood.cli._runs import at_least, open_model
from sparsewood.cli._sentences import answer, read_examples, standard_input
from sparsewood.data import Example
from sparsewood.draw import draw
from sparsewood.tasks import Output, TreeModel
from sparsewood.train.distributed import choose_device
from sparsewood.train.evaluate import answers, trees_of


@dataclass(frozen=True)
class PredictOptions:
    """What is labelled, and what is printed.

    Attributes:
        model: folder of a run or a model.
        text: sentences; pairs as two arguments, or with a tab between them. Without any, the lines
            of standard input.
        json: print one line of JSON for each.
        labels: how many labels are named.
        draw: how many trees are drawn; 0 for none.
        parser: "spacy", "spacy:PIPELINE" or the folder of a parser, for a model that reads given
            trees.
        device: "auto" takes a GPU where there is one.
    """

    model: tyro.conf.Positional[Path]
    text: tyro.conf.Positional[tuple[str, ...]] = ()
    json: bool = False
    labels: int = 3
    draw: int = 1
    parser: str | None = None
    device: Literal["auto", "cpu", "cuda"] = "auto"


def main(args: list[str]) -> None:
    """Prints what the model says of each sentence."""
    (options,) = parse(
        "sparsewood predict",
        args,
        [Group("prediction", PredictOptions)],
        "Label sentences. A reverse dictionary answers with words.",
        'sparsewood predict runs/sst-latent-1 "a gripping film" --json',
    )
    at_least(1, labels=options.labels)
    at_least(0, draw=options.draw)
    model = open_model(options.model).to(choose_device(options.device))
    interactive = not options.text and standard_input().isatty()
    if interactive:
        print("One sentence a line; Ctrl-D ends.", file=sys.stderr)
    examples = read_examples(options.text, model, options.parser)
    for example, output, i in answer(model, examples, 1 if interactive else 32):
        told = describe(model, example, output, i, options.labels)
        if options.json:
            print(json.dumps(told, ensure_ascii=False), flush=True)
        else:
            form = "{:.3f}" if model.task == "revdict" else "{:.1%}"
            print(as_text(told, form, options.draw), flush=True)


def describe(model: TreeModel, example: Example, output: Output, i: int, k: int) -> dict[str, Any]:
    """The answer for one example as JSON has it."""
    found = answers(model, output, i, k)
    return {
        "label": next(iter(found)),
        "prediction": found,
        "sides": [
            {"words": list(s.words), "trees": trees_of(posterior[i], len(s.words))}
            for s, posterior in zip(example.sentences, output.posteriors, strict=True)
        ],
    }


def as_text(told: dict[str, Any], form: str, trees: int) -> str:
    """The same for a person: labels with their numbers in this form, and some of the trees."""
    lines = ["  ".join(f"{label} {form.format(p)}" for label, p in told["prediction"].items())]
    for side in told["sides"]:
        if trees < 1:
            lines.append("  " + " ".join(side["words"]))
            continue
        shown = side["trees"][:trees]
        drawing = draw(side["words"], [t["heads"] for t in shown], [t["weight"] for t in shown])
        lines += ["", *(f"  {line}".rstrip() for line in drawing.splitlines())]
        if len(side["trees"]) > trees:
            lines.append(f"  and {len(side['trees']) - trees} more")
    return "\n".join([*lines, ""])
