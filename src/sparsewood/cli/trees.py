"""`sparsewood trees`: the trees that a model selects for a sentence."""

import sys
from dataclasses import dataclass
from pathlib import Path

import torch
import tyro

from sparsewood._files import write_text
from sparsewood.cli._options import Group, parse
from sparsewood.cli._runs import at_least, open_model, writable_file
from sparsewood.cli._sentences import read_sentence, require_heads
from sparsewood.data import Example, Sentence
from sparsewood.draw import Format, draw
from sparsewood.tasks import TreeModel
from sparsewood.train.evaluate import trees_of


@dataclass(frozen=True)
class TreesOptions:
    """What is drawn, and how.

    Attributes:
        model: folder of a run or a model.
        sentence: in quotation marks.
        format: text for the terminal, an SVG picture, an HTML page, LaTeX or CoNLL-U.
        out: write to this file.
        most: draw only so many, the likeliest.
        temperature: another one than the model's: lower keeps fewer trees, higher more.
        parser: "spacy", "spacy:PIPELINE" or the folder of a parser: mark the arcs that it agrees
            with.
    """

    model: tyro.conf.Positional[Path]
    sentence: tyro.conf.Positional[str]
    format: Format = "text"
    out: Path | None = None
    most: int | None = None
    temperature: float | None = None
    parser: str | None = None


def main(args: list[str]) -> None:
    """Draws the trees, the likeliest first."""
    (options,) = parse(
        "sparsewood trees",
        args,
        [Group("drawing", TreesOptions)],
        "Show the trees that a model selects for a sentence, with their probabilities.",
        'sparsewood trees runs/sst-latent-1 "a gripping film" --format svg --out film.svg',
    )
    at_least(1, most=options.most)
    if options.out is not None:
        writable_file(options.out)
    model = open_model(options.model)
    if options.temperature is not None:
        model.temperature = options.temperature
    sentence = read_sentence(options.sentence, options.parser)
    require_heads([sentence], model)
    drawing = _draw(model, sentence, options)
    if options.out is not None:
        write_text(options.out, drawing.rstrip("\n") + "\n" * (1 + (options.format == "conllu")))
        print(f"written: {options.out}", file=sys.stderr)
    else:
        print(drawing)


def _draw(model: TreeModel, sentence: Sentence, options: TreesOptions) -> str:
    split = model.encode([Example((sentence,))])
    with torch.inference_mode():
        posterior, _ = model.read(split.batch([0]).sides[0])
    trees = trees_of(posterior[0], len(sentence.words))[: options.most]
    given = None if model.options.trees == "given" else sentence.heads
    return draw(
        sentence.words,
        [tree["heads"] for tree in trees],
        [tree["weight"] for tree in trees],
        given,
        options.format,
    )
