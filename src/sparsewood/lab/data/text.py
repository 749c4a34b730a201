"""Tokenization in the style of the Penn Treebank.

Punctuation is separated from words and contractions are split (don't: do n't); nothing is
rewritten: the concatenated words are the text without white space. Numbers (3.5, 1,000), hyphenated
words and abbreviations (Mr., U.S.) are not split.
"""

import re
from collections.abc import Callable

WordsOf = Callable[[str], tuple[str, ...]]  # from a text to its words, as `tokenize`

_MARKS = frozenset(".,;:!?")
_OPENING = re.compile(r"``|''|\.{2,}|-{2,}|[\"'“”„‘’«»()\[\]{}<>$£€¥¿¡,;:!?`]")
_CLOSING = re.compile(r"(?:''|\.{2,}|-{2,}|[\"'“”‘’«»()\[\]{}<>%,;:!?`])$")
_INSIDE = re.compile(r"(-{2,}|\.{2,}|…|—|(?<=[^\W\d]),(?=[^\W\d]))")
_CLITIC = re.compile(r"(n['’]t|['’](?:s|re|ve|ll|d|m))$", re.IGNORECASE)
# An apostrophe that belongs to the word after it.
_APOSTROPHE = re.compile(r"['’](?:s|re|ve|ll|d|m|em|n|til|tis|twas|cause|\d+s?)$", re.IGNORECASE)
_ABBREVIATION = re.compile(
    r"(?:[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]|mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|inc|ltd|co|corp|gen|sen|rep|gov"
    r"|capt|col|lt|sgt|rev|hon|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)\.$",
    re.IGNORECASE,
)
_BRACKET = re.compile(r"-[LR][RSC]B-$")


def tokenize(text: str) -> tuple[str, ...]:
    """The words of `text`.

    Text that is already tokenized is only split at white space.
    """
    chunks = text.split()
    if _is_tokenized(chunks):
        return tuple(chunks)
    return tuple(word for chunk in chunks for word in _split(chunk))


def _is_tokenized(chunks: list[str]) -> bool:
    if not any(chunk in _MARKS for chunk in chunks):
        return False
    glued = any(len(c) > 1 and c[-1] in ",;!?" and c[-2].isalnum() for c in chunks)
    last = chunks[-1]
    return not glued and (last in _MARKS or last[-1] != "." or not last[:-1].isalnum())


def _split(chunk: str) -> list[str]:
    """The words of a text without white space."""
    if chunk.isalnum() or _BRACKET.match(chunk) or "://" in chunk:
        return [chunk]
    before: list[str] = []
    after: list[str] = []
    while chunk and not _APOSTROPHE.match(chunk) and (mark := _OPENING.match(chunk)):
        before.append(mark[0])
        chunk = chunk[mark.end() :]
    while chunk and not _APOSTROPHE.match(chunk):
        if mark := _CLOSING.search(chunk):
            after.append(mark[0])
            chunk = chunk[: mark.start()]
        elif len(chunk) > 1 and chunk[-1] == "." and not _ABBREVIATION.match(chunk):
            after.append(".")
            chunk = chunk[:-1]
        else:
            break
    return before + _inner(chunk) + after[::-1]


def _inner(core: str) -> list[str]:
    """A core without punctuation around it, split at dashes and before clitics."""
    parts = [part for part in _INSIDE.split(core) if part]
    if len(parts) > 1:
        return [word for part in parts for word in _split(part)]
    clitic = _CLITIC.search(core)
    if clitic and clitic.start() > 0:
        return [*_split(core[: clitic.start()]), clitic[0]]
    return parts


def is_number(text: str | bytes) -> bool:
    """Whether `float` can read it."""
    try:
        float(text)
    except ValueError:
        return False
    return True
