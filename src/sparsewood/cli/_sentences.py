"""From what a person types to sentences for a model, and from a model to its trees."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from itertools import islice
from typing import TextIO

import torch

from sparsewood.data import Example, Sentence, tokenize
from sparsewood.data.listops import heads as listops_heads
from sparsewood.data.parser import parse_sentences
from sparsewood.tasks import Output, TreeModel


def read_sentence(text: str, parser: str | None = None) -> Sentence:
    """The words of `text`, with heads where a parser gives them; list operations have theirs."""
    words = tuple(text.split())
    if not words:
        raise ValueError("expected a sentence, got nothing but white space")
    if words[0].startswith("["):
        try:
            return Sentence(words, listops_heads(words))
        except ValueError:
            pass  # not a list operation
    words = tokenize(text)
    if parser is None:
        return Sentence(words)
    return Sentence(words, parse_sentences([words], parser, progress=False)[0])


def read_examples(
    texts: Sequence[str], model: TreeModel, parser: str | None = None
) -> Iterator[Example]:
    """Examples from arguments, or from the lines of standard input if there are none.

    Pairs are separated by a tab; as arguments they may also be two, one after the other.
    """
    pairs = model.task == "nli"
    lines: Iterable[str] = texts
    if not texts:
        lines = _lines(standard_input())
    elif pairs and not any("\t" in text for text in texts):
        if len(texts) % 2:
            raise ValueError(f"expected pairs of sentences, got {len(texts)} arguments")
        lines = ("\t".join(pair) for pair in zip(texts[::2], texts[1::2], strict=True))
    for number, line in enumerate(lines, 1):
        if not line.strip() and not texts:
            continue
        parts = line.split("\t") if pairs else [line]
        if pairs and len(parts) != 2:
            raise ValueError(f"line {number}: expected premise, tab, hypothesis; got {line[:60]!r}")
        example = Example(tuple(read_sentence(part, parser) for part in parts))
        require_heads(example.sentences, model)
        yield example


def standard_input() -> TextIO:
    """Standard input as UTF-8 text; ValueError where a process was given none."""
    if sys.stdin is None:
        raise ValueError("no sentences: there is no standard input")
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="strict")
    return sys.stdin


def _lines(file: TextIO) -> Iterator[str]:
    try:
        yield from (line.rstrip("\n") for line in file)
    except UnicodeDecodeError as error:
        raise ValueError(f"standard input: not UTF-8 text ({error})") from error


def require_heads(sentences: Iterable[Sentence], model: TreeModel) -> None:
    """Raise ValueError where the model needs heads that are not there."""
    if model.options.trees == "given" and any(s.heads is None for s in sentences):
        raise ValueError(
            "this model reads trees that are given to it: --parser spacy makes them (extra "
            "[parse]), or --parser FOLDER"
        )


def answer(
    model: TreeModel, examples: Iterable[Example], size: int = 32
) -> Iterator[tuple[Example, Output, int]]:
    """For each example what the model says of the batch it is in, and where in it."""
    device = next(model.parameters()).device
    examples = iter(examples)
    while batch := list(islice(examples, size)):
        with torch.inference_mode():
            output = model(model.encode(batch).batch(range(len(batch))).to(device))
        for i, example in enumerate(batch):
            yield example, output, i
