"""Heads from a parser, cached on disk: a spaCy pipeline or a parser trained here."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.progress import track

from sparsewood.lab._extras import require
from sparsewood.lab._files import write_text
from sparsewood.lab.data.cache import cache_folder
from sparsewood.lab.data.examples import Corpus, Sentence
from sparsewood.lab.data.sources.base import Source
from sparsewood.lab.tasks.build import load_parser, model_folder

DEFAULT_PIPELINE = "en_core_web_sm"
_SAVE_EVERY = 20_000  # sentences between two saves of the cache

Words = tuple[str, ...]
Heads = tuple[int, ...]


def load_corpus(source: Source) -> Corpus:
    """The corpus of `source`, parsed if it has no heads and a parser is given.

    Raises:
        ValueError: with the path, line or column of the error.
    """
    corpus = source.load()
    return corpus if source.parser is None else parse_corpus(corpus, source.parser)


def parse_corpus(corpus: Corpus, parser: str, *, progress: bool = True) -> Corpus:
    """The corpus with parsed heads for sentences that have none.

    Args:
        corpus: a corpus of any task.
        parser: as for `parse_sentences`.
        progress: show a bar while parsing.

    Raises:
        ValueError: if the parser is unknown, not installed or not readable.
    """
    _check(parser)
    missing = dict.fromkeys(s.words for s in corpus.sentences() if s.heads is None)
    if not missing:
        return corpus
    heads = parse_sentences(list(missing), parser, progress=progress)
    known = dict(zip(missing, heads, strict=True))
    return corpus.with_sentences(
        lambda s: Sentence(s.words, known[s.words]) if s.heads is None else s
    )


def parse_sentences(
    sentences: Sequence[Words], parser: str, *, progress: bool = True
) -> list[Heads]:
    """The heads of each sentence, one root each.

    Args:
        sentences: of at least one word each.
        parser: "spacy" or "spacy:PIPELINE" for an installed pipeline; or the folder of a run of
            `sparsewood train parse`, or of its model.
        progress: show a bar while parsing.

    Raises:
        ValueError: if the parser is unknown, not installed or not readable.
    """
    _check(parser)
    kind, _, pipeline = parser.partition(":")
    if kind == "spacy":
        return spacy_heads(sentences, pipeline or DEFAULT_PIPELINE, progress=progress)
    return own_heads(sentences, Path(parser), progress=progress)


def _check(parser: str) -> None:
    """Raise ValueError unless the parser is spaCy or a folder."""
    if parser.partition(":")[0] != "spacy" and not Path(parser).is_dir():
        raise ValueError(
            "parser: expected 'spacy', 'spacy:PIPELINE' or the folder of a parser that sparsewood "
            f"trained; there is no folder {parser!r}"
        )


def spacy_heads(
    sentences: Sequence[Words], pipeline: str = DEFAULT_PIPELINE, *, progress: bool = True
) -> list[Heads]:
    """The heads of each sentence by a spaCy pipeline, one root each.

    If the pipeline finds several roots, because it splits the sentence, the later ones become
    dependents of the first.
    """
    spacy = require("spacy", extra="parse")
    try:
        nlp = spacy.load(pipeline)
    except OSError as error:
        raise ValueError(
            f"the spaCy pipeline {pipeline!r} is not installed: python -m spacy download {pipeline}"
        ) from error
    if not nlp.has_pipe("parser"):
        raise ValueError(f"the spaCy pipeline {pipeline!r} has no dependency parser")

    def parse(new: Sequence[Words]) -> Iterator[tuple[Words, Heads]]:
        docs = nlp.pipe(spacy.tokens.Doc(nlp.vocab, words=list(words)) for words in new)
        for words, doc in zip(new, docs, strict=True):
            yield words, _single_root([_head(token) for token in doc])

    name = re.sub(r"\W+", "_", pipeline)  # the pipeline may be a path
    title = f"parsing with {pipeline}" if progress else None
    return _cached(sentences, parse, f"{name}-{nlp.meta['version']}", title)


def own_heads(sentences: Sequence[Words], folder: Path, *, progress: bool = True) -> list[Heads]:
    """The heads of each sentence by the parser in `folder`, one root each."""
    folder = model_folder(folder)
    parser = load_parser(folder).to("cuda" if torch.cuda.is_available() else "cpu")

    def parse(new: Sequence[Words]) -> Iterator[tuple[Words, Heads]]:
        return ((new[row], heads) for row, heads in parser.parsed(new))

    digest = hashlib.blake2b(digest_size=8)  # identifies the parser by its files, wherever they are
    for name in ("config.json", "model.safetensors"):
        digest.update((folder / name).read_bytes())
    title = f"parsing with {folder}" if progress else None
    return _cached(sentences, parse, f"sparsewood-{digest.hexdigest()}", title)


def _cached(
    sentences: Sequence[Words],
    parse: Callable[[Sequence[Words]], Iterable[tuple[Words, Heads]]],
    name: str,
    title: str | None,
) -> list[Heads]:
    """The heads of each sentence, from the cache `name` or else from `parse`."""
    path = cache_folder() / "parses" / f"{name}.tsv"
    known = _read_cache(path)
    new = [words for words in dict.fromkeys(sentences) if _key(words) not in known]
    bar = track(parse(new), title or "", len(new), disable=title is None or not new)
    for count, (words, heads) in enumerate(bar, 1):
        known[_key(words)] = heads
        if count % _SAVE_EVERY == 0 or count == len(new):
            _write_cache(path, known)
    return [known[_key(words)] for words in sentences]


def _head(token: Any) -> int:
    return 0 if token.head.i == token.i else token.head.i + 1


def _single_root(heads: Sequence[int]) -> Heads:
    first = heads.index(0)
    return tuple(first + 1 if h == 0 and i != first else h for i, h in enumerate(heads))


def _key(words: Words) -> str:
    return hashlib.blake2b("\0".join(words).encode(), digest_size=16).hexdigest()


def _read_cache(path: Path) -> dict[str, Heads]:
    if not path.is_file():
        return {}
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {key: tuple(map(int, heads.split())) for key, heads in rows}


def _write_cache(path: Path, known: dict[str, Heads]) -> None:
    lines = (f"{key}\t{' '.join(map(str, heads))}\n" for key, heads in known.items())
    write_text(path, "".join(lines))
