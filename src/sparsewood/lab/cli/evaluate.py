"""`sparsewood evaluate`: measure a trained model on its own tests or on other data."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console

from sparsewood.lab.cli import unknown
from sparsewood.lab.cli._options import Group, parse_options
from sparsewood.lab.cli._results import (
    advice,
    alignments_table,
    confusion_table,
    lengths_table,
    remarks,
    splits_table,
)
from sparsewood.lab.cli._runs import at_least, is_run, open_model, set_temperature, source_group
from sparsewood.lab.data import SOURCES, Batches, Source
from sparsewood.lab.data.alignments import read_alignments
from sparsewood.lab.data.sources import Classify
from sparsewood.lab.data.vectors import VectorReference
from sparsewood.lab.run import Bins, ByLength, Run, evaluate
from sparsewood.lab.run.by_length import Unit
from sparsewood.lab.run.distributed import choose_device
from sparsewood.lab.tasks import TASKS, Model
from sparsewood.lab.tasks.alignments import attention_of, decoded
from sparsewood.lab.tasks.parsing import load_corpus

DESCRIPTION = (
    "Evaluate a run, or a model, on the validation and test splits of the data it was trained on.\n"
    "With a SOURCE and its options, evaluate on other data. With --alignments, compare the\n"
    "attention between two sentences with word alignments by people."
)
EXAMPLE = "sparsewood evaluate runs/subj-sparsemap-1 classify --test reviews.tsv"


@dataclass(frozen=True)
class EvaluateOptions:
    """How to evaluate a model.

    Attributes:
        model: folder of a run or a model.
        splits: evaluate only these splits.
        temperature: temperature to use instead of the model's.
        eval_batch: batch size.
        device: device; "auto" uses a GPU if there is one.
        by: also print metrics by length: in words, or in operators of list operations and logic.
        bins: greatest length of each bin. Default: those of the data, or bins of similar size.
        alignments: file of word alignments, in the format of MultiMWA, to compare attention with.
        min_attention: minimum attention of a link, with --alignments.
        json: print the metrics as JSON.
    """

    model: tyro.conf.Positional[Path]
    splits: tuple[str, ...] = ()
    temperature: float | None = None
    eval_batch: int = 64
    device: Literal["auto", "cpu", "cuda"] = "auto"
    by: Annotated[Unit | None, "words|operators"] = None
    bins: tuple[int, ...] = ()
    alignments: Path | None = None
    min_attention: float = 0.0
    json: bool = False


def main(args: list[str]) -> None:
    """Print a table of metrics."""
    options, source = _parse(args)
    at_least(1, eval_batch=options.eval_batch)
    if options.bins and options.by is None:
        raise ValueError("--bins: expected --by words or --by operators as well")
    if options.min_attention and options.alignments is None:
        raise ValueError("--min-attention: expected --alignments FILE as well")
    model = open_model(options.model)
    set_temperature(model, options.temperature)
    if options.alignments is not None:
        if source is not None or options.splits or options.by is not None:
            raise ValueError("--alignments: leave out the source, --splits and --by")
        _compare_alignments(model, options.alignments, options)
        return
    if source is None:
        if not is_run(options.model):
            raise ValueError(
                f"{options.model}: a model without its run has no data; name a source, "
                f"for example: {EXAMPLE}"
            )
        source = Run(options.model).config.source
    if isinstance(source, Classify) and source.target == "class":
        source = replace(source, target=TASKS[model.task].answer)  # as the model was trained
    if source.task != model.task:
        raise ValueError(
            f"{options.model} is a model for {model.task}, {source.name} is data for {source.task}"
        )
    results = _evaluate(model, source, options)
    if options.json:
        print(json.dumps(results))
        return
    by_length = results.pop("by_length", None)
    _print(results, model)
    if by_length is not None:
        Console(highlight=False).print("", lengths_table(by_length))


def _print(results: dict[str, Any], model: Model) -> None:
    console = Console(highlight=False)
    console.print(splits_table(results))
    reference: VectorReference | None = getattr(model, "vectors", None)
    vectors = None if reference is None else reference.name
    for line in [*remarks(results), *advice(results, vectors)]:
        print(line)
    for split, values in results.items():
        confusion = values.get("confusion")
        if confusion and (table := confusion_table(split, confusion)) is not None:
            console.print("", table)


def _compare_alignments(model: Model, path: Path, options: EvaluateOptions) -> None:
    """Print precision, recall and F1 of the links by attention, as JSON or as a table."""
    pairs = read_alignments(path)
    model = model.to(choose_device(options.device))
    try:
        weights = attention_of(model, pairs, batch=options.eval_batch)
    except ValueError as error:
        raise ValueError(f"{options.model}: {error}") from None
    found = decoded(pairs, weights)
    scores = {name: links.score(options.min_attention) for name, links in found.items()}
    if options.json:
        print(json.dumps(scores))
        return
    Console(highlight=False).print(alignments_table(scores))
    sure = sum(len(pair.sure) for pair in pairs)
    possible = sum(len(pair.possible) for pair in pairs)
    print(f"{len(pairs):,} pairs with {sure:,} sure and {possible:,} possible links")
    print("precision, recall and F1 count possible links as wrong; the last column, as right")


def _parse(args: list[str]) -> tuple[EvaluateOptions, Source | None]:
    groups = [Group("evaluation", EvaluateOptions)]
    prog = "sparsewood evaluate"
    name = args[1] if len(args) > 1 else ""
    if name and not name.startswith("-") and name not in SOURCES and not args[0].startswith("-"):
        raise ValueError(unknown("source", name, list(SOURCES)))
    if name not in SOURCES:
        (options,) = parse_options(prog, args, groups, DESCRIPTION, EXAMPLE)
        return options, None
    kind = SOURCES[name]
    own = issubclass(kind, Classify)
    groups.append(source_group(kind, train="") if own else source_group(kind))
    options, source = parse_options(prog, [args[0], *args[2:]], groups, DESCRIPTION, EXAMPLE)
    if isinstance(source, Classify) and not source.train:
        if source.test is None:
            raise ValueError(f"evaluate {name}: pass the file to evaluate on with --test")
        # There is no training here: the test serves as every split.
        source = replace(source, train=source.test, validation=source.test)
        options = replace(options, splits=options.splits or ("test",))
    return options, source


def _evaluate(model: Model, source: Source, options: EvaluateOptions) -> dict[str, Any]:
    device = choose_device(options.device)
    model = model.to(device)
    corpus = load_corpus(source)
    names = options.splits or ("validation", *corpus.tests)
    if absent := [name for name in names if name not in corpus.splits]:
        raise ValueError(f"no split {absent[0]!r}: the splits are {', '.join(corpus.splits)}")
    if empty := [name for name in names if not corpus.splits[name]]:
        raise ValueError(f"the split {empty[0]!r} has no examples")
    cut = options.splits or corpus.tests
    by_length = None
    if options.by is not None:
        bins = Bins.of(source, corpus, unit=options.by, ends=options.bins, splits=cut)
        by_length = ByLength(model, bins)
    batches = {n: Batches(model.encode(corpus.splits[n]), options.eval_batch) for n in names}
    results = {
        name: evaluate(model, split, device, by_length=by_length if name in cut else None)
        for name, split in batches.items()
    }
    return results if by_length is None else results | {"by_length": by_length.to_json()}
