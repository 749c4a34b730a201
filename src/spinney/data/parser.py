"""Heads from an installed spaCy pipeline, kept on disk."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.progress import track

from spinney._extras import require
from spinney._files import whole_file
from spinney.data.cache import cache_folder
from spinney.data.examples import Corpus, Example, Sentence

DEFAULT_PIPELINE = "en_core_web_sm"
_SAVE_EVERY = 20_000  # sentences, so that little is lost when a long run is stopped

Words = tuple[str, ...]


def parse_corpus(corpus: Corpus, parser: str, *, progress: bool = True) -> Corpus:
    """The corpus with heads for the sentences that have none, over the words they have.

    Args:
        corpus: of any task.
        parser: "spacy" or "spacy:PIPELINE", a pipeline that is installed.
        progress: show a bar while parsing.

    Raises:
        ValueError: if the parser is unknown or not installed.
    """
    kind, _, pipeline = parser.partition(":")
    if kind != "spacy":
        raise ValueError(f"parser: expected 'spacy' or 'spacy:PIPELINE', got {parser!r}")
    missing = dict.fromkeys(s.words for s in corpus.sentences() if s.heads is None)
    if not missing:
        return corpus
    heads = spacy_heads(list(missing), pipeline or DEFAULT_PIPELINE, progress=progress)
    known = dict(zip(missing, heads, strict=True))

    def parsed(example: Example) -> Example:
        sentences = tuple(
            Sentence(s.words, known[s.words]) if s.heads is None else s for s in example.sentences
        )
        return Example(sentences, example.label)

    return replace(
        corpus, splits={name: list(map(parsed, split)) for name, split in corpus.splits.items()}
    )


def spacy_heads(
    sentences: Sequence[Words], pipeline: str = DEFAULT_PIPELINE, *, progress: bool = True
) -> list[tuple[int, ...]]:
    """The heads of each sentence, one root each.

    Where the pipeline finds several roots, for it sees several sentences, the later ones hang from
    the first.
    """
    spacy = require("spacy", extra="parse")
    try:
        nlp = spacy.load(pipeline)
    except OSError as error:
        raise ValueError(
            f"the spaCy pipeline {pipeline!r} is not installed: python -m spacy download {pipeline}"
        ) from error
    if not nlp.has_pipe("parser"):
        raise ValueError(f"the spaCy pipeline {pipeline!r} has no parser of dependencies")
    name = re.sub(r"\W+", "_", pipeline)  # it may be a path
    path = cache_folder() / "parses" / f"{name}-{nlp.meta['version']}.tsv"
    known = _read_cache(path)
    new = [words for words in dict.fromkeys(sentences) if _key(words) not in known]
    docs = nlp.pipe(spacy.tokens.Doc(nlp.vocab, words=list(words)) for words in new)
    bar: Iterable[Any] = track(
        docs, f"parsing with {pipeline}", len(new), disable=not (progress and new)
    )
    for count, (words, doc) in enumerate(zip(new, bar, strict=True), 1):
        known[_key(words)] = _single_root([_head(token) for token in doc])
        if count % _SAVE_EVERY == 0 or count == len(new):
            _write_cache(path, known)
    return [known[_key(words)] for words in sentences]


def _head(token: Any) -> int:
    return 0 if token.head.i == token.i else token.head.i + 1


def _single_root(heads: Sequence[int]) -> tuple[int, ...]:
    first = heads.index(0)
    return tuple(first + 1 if h == 0 and i != first else h for i, h in enumerate(heads))


def _key(words: Words) -> str:
    return hashlib.blake2b("\0".join(words).encode(), digest_size=16).hexdigest()


def _read_cache(path: Path) -> dict[str, tuple[int, ...]]:
    if not path.is_file():
        return {}
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {key: tuple(map(int, heads.split())) for key, heads in rows}


def _write_cache(path: Path, known: dict[str, tuple[int, ...]]) -> None:
    with whole_file(path) as draft:
        lines = (f"{key}\t{' '.join(map(str, heads))}\n" for key, heads in known.items())
        draft.write_text("".join(lines), encoding="utf-8")
