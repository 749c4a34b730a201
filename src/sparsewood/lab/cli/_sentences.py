"""From lines of input to examples of a model, and to its answers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import torch

from sparsewood.lab._memory import of_sentences, told_if_out_of_memory
from sparsewood.lab.cli._inputs import Line
from sparsewood.lab.data import Example, Sentence
from sparsewood.lab.tasks import Model, Output, TreeModel
from sparsewood.lab.tasks.parsing import parse_sentences

_PARSED = 1024  # lines per call of the parser, which takes seconds to load


@dataclass(frozen=True)
class Answer:
    """The answer of a model to an example: entry `i` of the output of its batch.

    Attributes:
        example: as the model reads it.
        line: the line of input.
    """

    example: Example
    line: Line
    output: Output
    i: int

    @property
    def texts(self) -> list[str]:
        """The sentences as written; for treebanks, their words."""
        sides = self.line.sides
        return [side if isinstance(side, str) else " ".join(side.words) for side in sides]


def answer(
    model: TreeModel, lines: Iterable[Line], parser: str | None = None, *, one_by_one: bool = False
) -> Iterator[Answer]:
    """The model's answer to each line; with `one_by_one`, before the next line is read."""
    device = next(model.parameters()).device
    asked = _examples(model, lines, parser, 1 if one_by_one else _PARSED)
    while batch := list(islice(asked, 1 if one_by_one else 32)):
        examples = [example for example, _ in batch]
        with told_if_out_of_memory(lambda batch=batch: _told_of(batch)), torch.no_grad():
            output = model(model.encode(examples).batch(range(len(batch))).to(device))
        for i, (example, line) in enumerate(batch):
            yield Answer(example, line, output, i)


def _told_of(batch: Sequence[tuple[Example, Line]]) -> str:
    """Describe a batch that is too large: its size, and the place of its longest example."""
    lengths = [max(len(s.words) for s in example.sentences) for example, _ in batch]
    words, where = max(zip(lengths, (line.where for _, line in batch), strict=True))
    at = where and f"{where}: "
    return f"{at}{of_sentences(len(batch), words)}; leave the longest out"


def _examples(
    model: TreeModel, lines: Iterable[Line], parser: str | None, size: int
) -> Iterator[tuple[Example, Line]]:
    lines = iter(lines)
    size = size if parser else 1
    while some := list(islice(lines, size)):
        sentences = iter(with_heads([side for line in some for side in line.sides], parser))
        for line in some:
            example = Example(tuple(islice(sentences, len(line.sides))))
            require_heads(example.sentences, model)
            yield example, line


def with_heads(sentences: Sequence[Sentence], parser: str | None) -> list[Sentence]:
    """The sentences; those without heads get them from the parser, if there is one."""
    found = list(sentences)
    if parser is None:
        return found
    bare = [i for i, sentence in enumerate(found) if sentence.heads is None]
    trees = parse_sentences([found[i].words for i in bare], parser, progress=False)
    for i, heads in zip(bare, trees, strict=True):
        found[i] = replace(found[i], heads=heads)
    return found


def require_heads(sentences: Iterable[Sentence], model: Model) -> None:
    """Raise ValueError if the model needs heads and a sentence has none."""
    if model.reads_heads and any(s.heads is None for s in sentences):
        raise ValueError(
            "this model reads given trees: --parser spacy makes them (extra [parse]), or "
            "--parser FOLDER"
        )
