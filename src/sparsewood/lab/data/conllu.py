"""CoNLL-U files, read with the package `conllu`.

Only tokens with an integer ID are words, not multi-word tokens and empty nodes.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sparsewood.lab._extras import require
from sparsewood.lab.data._lines import fault, numbered_lines, parsed_sentence
from sparsewood.lab.data.examples import Example, Sentence
from sparsewood.lab.data.labels import labelled
from sparsewood.lab.data.read_options import STRICT, ReadOptions

_TEXT = re.compile(r"^# *text *= *(.*)$", re.MULTILINE)


def read_conllu(path: Path, how: ReadOptions = STRICT) -> list[Example]:
    """The sentences with their heads, and labels from comments `# label = ...`.

    Raises:
        ValueError: at a sentence that is not CoNLL-U, has no label, or whose heads are not a tree.
    """
    examples = []
    for line, block in _blocks(path, how):
        with how.row():
            parsed = _parse(block, path, line)
            label = parsed.metadata.get("label")
            if label is None or (not label and how.target != "labels"):
                fault(path, line, "the sentence has no comment `# label = ...`")
            examples.append(labelled([_sentence(parsed, path, line)], label, path, line, how))
    return examples


def read_treebank(path: Path) -> list[Sentence]:
    """The sentences with their heads.

    Raises:
        ValueError: at a sentence that is not CoNLL-U, or whose heads are not a tree.
    """
    return [_sentence(_parse(block, path, line), path, line) for line, block in _blocks(path)]


def conllu_heads(path: Path, wanted: set[str]) -> Iterator[tuple[str, Sentence]]:
    """The sentences whose text without white space is in `wanted`, by that text.

    The text is that of the comment `# text = ...`, or the words.
    """
    for line, block in _blocks(path):
        comment = _TEXT.search(block)
        key = "".join(comment[1].split()) if comment else None
        if key is None or key in wanted:
            sentence = _sentence(_parse(block, path, line), path, line)
            text = "".join(sentence.words) if key is None else key
            if text in wanted:
                yield text, sentence


def _blocks(path: Path, how: ReadOptions = STRICT) -> Iterator[tuple[int, str]]:
    """The text of each sentence and its first line."""
    lines: list[str] = []
    start = 1
    for number, line in numbered_lines(path, how):
        if line.strip():
            if not lines:
                start = number
            lines.append(line)
        elif lines:
            yield start, "\n".join(lines)
            lines = []
    if lines:
        yield start, "\n".join(lines)


def _parse(block: str, path: Path, line: int) -> Any:
    conllu = require("conllu", extra="conllu")
    try:
        (parsed,) = conllu.parse(block + "\n\n")
    except (conllu.exceptions.ParseException, ValueError):
        fault(path, line, "not a CoNLL-U sentence")
    return parsed


def _sentence(parsed: Any, path: Path, line: int) -> Sentence:
    tokens = [token for token in parsed if isinstance(token["id"], int)]
    heads = [token["head"] for token in tokens]
    if None in heads:
        fault(path, line, f"word {heads.index(None) + 1} has no head")
    return parsed_sentence([token["form"] for token in tokens], heads, path, line)
