"""Files of `label<TAB>tokens<TAB>heads`, and the heads of a corpus's sentences from such files.

A line has a label, the tokens separated by spaces and the head of each token: 0 for the root, j for
token j. Further columns (relations) are ignored.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sparsewood.lab.data._lines import fault, full_lines, given_heads
from sparsewood.lab.data.conllu import conllu_heads
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.labels import labelled
from sparsewood.lab.data.read_options import STRICT, ReadOptions


def read_heads_file(
    path: Path, labels: Mapping[str, str] | None = None, how: ReadOptions = STRICT
) -> list[Example]:
    """The sentences with their labels and heads.

    Args:
        path: path of the file.
        labels: allowed labels, and their names.
        how: encoding and bad rows.

    Raises:
        ValueError: at a malformed line, or one whose heads are not a tree.
    """
    examples = []
    for number, line in full_lines(path, how):
        with how.row():
            label, tokens, heads = _columns(line, path, number)
            if labels is not None:
                if label not in labels:
                    fault(path, number, f"label: expected one of {', '.join(labels)}")
                label = labels[label]
            sides = [given_heads(tokens.split(), heads, path, number)]
            examples.append(labelled(sides, label, path, number, how))
    return examples


def has_heads_form(line: str) -> bool:
    """Whether the third column has one integer per token of the second."""
    columns = line.split("\t")
    if len(columns) < 3:
        return False
    heads = columns[2].split()
    return len(heads) == len(columns[1].split()) > 0 and all(head.isdecimal() for head in heads)


def attach_heads(corpus: Corpus, paths: Iterable[Path]) -> Corpus:
    """The corpus with heads and tokens from the files.

    A sentence gets those of the first line with the same text, ignoring white space; sentences
    without such a line are unchanged. Lines of other sentences are not checked.

    Args:
        corpus: a corpus of any task.
        paths: files, or folders of them: `.conllu`, and `.tsv` of this module's form.
    """
    paths = tuple(paths)
    missing = {_key(sentence.words) for sentence in corpus.sentences()}
    found: dict[str, Sentence] = {}
    for path in heads_files(paths):
        read = conllu_heads if path.suffix == ".conllu" else _lines_of
        for key, sentence in read(path, missing):
            if key in missing:
                found[key] = sentence
                missing.remove(key)
    if missing and not found:
        raise ValueError(
            f"{', '.join(map(str, paths))}: no heads for any sentence of the data; texts are "
            "compared without white space, and case matters"
        )
    return corpus.with_sentences(lambda s: found.get(_key(s.words), s))


def count_missing(examples: Iterable[Example]) -> int:
    """The number of sentences without heads."""
    return sum(sentence.heads is None for e in examples for sentence in e.sentences)


def heads_files(paths: Iterable[Path]) -> list[Path]:
    """The files of heads among `paths` and in the folders among them.

    Raises:
        ValueError: if a path does not exist, or a folder has no such file.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.suffix in (".tsv", ".conllu"))
            if not inside:
                raise ValueError(f"{path}: no .tsv or .conllu files of heads in this folder")
            files += inside
        elif path.is_file():
            files.append(path)
        else:
            raise ValueError(f"{path}: no such file or folder of heads")
    return files


def _lines_of(path: Path, wanted: set[str]) -> Iterator[tuple[str, Sentence]]:
    for number, line in full_lines(path):
        _, tokens, heads = _columns(line, path, number)
        words = tokens.split()
        if (key := _key(words)) in wanted:
            yield key, given_heads(words, heads, path, number)


def _columns(line: str, path: Path, number: int) -> list[str]:
    columns = line.split("\t", 3)
    if len(columns) < 3:
        fault(
            path,
            number,
            f"expected label, tokens and heads separated by tabs, got {len(columns)} column",
        )
    return columns[:3]


def _key(words: Iterable[str]) -> str:
    return "".join(words)
