"""From words to sub-words: a fast tokenizer, and windows of limited length."""

import json
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from sparsewood.lab._extras import require
from sparsewood.lab.data.windows import Window

_PROBE = list("aeionst")  # every tokenizer knows at least one


class SubWords:
    """Splits words with a fast tokenizer, which decides about upper and lower case.

    Every word has at least one sub-word, possibly the unknown one. A sentence with more sub-words
    than an encoder can read is split into windows that overlap by half, and each sub-word is read
    in the window in which it is further from the ends.

    Args:
        tokenizer: content of `tokenizer.json`.
        unknown: the unknown sub-word.
        limit: maximum sub-words of a window, including special ones; None for no limit.
    """

    def __init__(self, tokenizer: str, unknown: int, limit: int | None) -> None:
        self.unknown_subword = unknown
        self._tokenizer = require("tokenizers", extra="hf").Tokenizer.from_str(tokenizer)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # For these, a word without a preceding space continues another word.
        self._spaced = _mentions(json.loads(tokenizer)["pre_tokenizer"], "ByteLevel")
        probe = self._tokenizer.encode(_PROBE, is_pretokenized=True)
        inside = [i for i, word in enumerate(probe.word_ids) if word is not None]
        first, last = (inside[0], inside[-1]) if inside else (len(probe.ids), len(probe.ids))
        self._before, self._after = probe.ids[:first], probe.ids[last + 1 :]
        special = len(self._before) + len(self._after)
        self._room = None if limit is None else max(1, limit - special)

    def __call__(self, words: Sequence[str]) -> list[Window]:
        """The windows of a sentence."""
        subwords, owners = self._split(words)
        if self._room is None or len(subwords) <= self._room:
            return [self._window(subwords, owners)]
        room, step = self._room, -(-self._room // 2)
        starts = range(0, len(subwords) - room + step, step)
        # Where reading starts in each window; the last one is read to its end.
        cuts = [0, *(start + (room - step) // 2 for start in starts[1:]), len(subwords)]
        windows: list[Window] = []
        for k, start in enumerate(starts):
            inside = range(start, min(start + room, len(subwords)))
            own = [owners[i] if cuts[k] <= i < cuts[k + 1] else -1 for i in inside]
            windows.append(self._window([subwords[i] for i in inside], own))
        return windows

    def unknown(self, words: Iterable[str]) -> set[str]:
        """The `words` that consist only of the unknown sub-word."""
        nothing = {self.unknown_subword}
        return {word for word in set(words) if set(self._split([word])[0]) == nothing}

    def _split(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """The sub-words, without special ones, and the index of the word of each."""
        text = [f" {word}" for word in words] if self._spaced else list(words)
        found = self._tokenizer.encode(text, is_pretokenized=True, add_special_tokens=False)
        subwords, owners = found.ids, found.word_ids
        lost = set(range(len(words))).difference(owners)
        if not lost:
            return subwords, owners
        both = [*zip(owners, subwords, strict=True), *((i, self.unknown_subword) for i in lost)]
        both.sort(key=itemgetter(0))
        return [subword for _, subword in both], [owner for owner, _ in both]

    def _window(self, subwords: list[int], owners: list[int]) -> Window:
        before, after = self._before, self._after
        return Window(
            [*before, *subwords, *after], [*[-1] * len(before), *owners, *[-1] * len(after)]
        )


def _mentions(step: Any, kind: str) -> bool:
    """Whether a step of a tokenizer, or a step nested in it, is of this kind."""
    if isinstance(step, dict):
        return step.get("type") == kind or any(_mentions(part, kind) for part in step.values())
    return isinstance(step, list) and any(_mentions(part, kind) for part in step)
