"""Examples as padded tensors, batch by batch, in an order that a seed and an epoch fix."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, Protocol

import numpy
import torch
from torch import Tensor

from sparsewood._internal.host import move
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.vocabulary import Vocabulary
from sparsewood.lab.data.windows import Splitter, padded_windows

Shuffle = Literal["examples", "batches"]

_POOL = 50  # batches' worth of examples that are sorted by length together
_WIDE = 64  # words of a sentence from which on batches that are not shuffled have fewer
_EPOCH = 10_000  # short examples that are fewer are repeated up to so many


@dataclass(frozen=True)
class PaddedSentences:
    """Sentences of a batch.

    Attributes:
        tokens: (B, n) int64, 0 beyond the lengths.
        lengths: (B,) int64.
        heads: (B, n) int64, -1 beyond the lengths; None unless every sentence has heads.
        scored: (B, n) bool, which words have a head that means something; None: all, or no heads.
        subwords: (R, p) int64, windows of sub-words, -1 beyond their ends; None: words alone.
        owners: (R, p) int64, the word that each is part of, b * n + i for word i of sentence b; -1
            for none.
    """

    tokens: Tensor
    lengths: Tensor
    heads: Tensor | None
    scored: Tensor | None = None
    subwords: Tensor | None = None
    owners: Tensor | None = None


@dataclass(frozen=True)
class Batch:
    """Some rows of a split.

    Attributes:
        sides: the sentences; a second entry holds the hypotheses of pairs.
        targets: of each example its class, (B,) int64, -1 where it is unknown; its number, (B,)
            float64, NaN where it is unknown; or whether it has each label, (B, labels) int64, -1
            where they are unknown.
        rows: (B,) int64, on the CPU: which examples of the split these are.
    """

    sides: tuple[PaddedSentences, ...]
    targets: Tensor
    rows: Tensor

    def to(self, device: torch.device | str) -> "Batch":
        """The same on `device`, moved in one transfer; the host remembers the values."""
        tables = [{k: x for k, x in vars(side).items() if x is not None} for side in self.sides]
        moved = iter(move([*(x for t in tables for x in t.values()), self.targets], device))
        sides = tuple(
            replace(side, **{name: next(moved) for name in table})
            for side, table in zip(self.sides, tables, strict=True)
        )
        return Batch(sides, next(moved), self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def units(self) -> int:
        """How many examples these are: the loss is a mean over them."""
        return len(self)


class Split(Protocol):
    """The examples of a split, out of which batches are made."""

    @property
    def examples(self) -> Sequence[Example]:
        """As they were read."""
        ...

    @property
    def lengths(self) -> Sequence[int]:
        """Of the longest sentence of each."""
        ...

    def batch(self, rows: Sequence[int]) -> Any:
        """The examples `rows` as one batch, which has `rows`, `units` and `to(device)`."""
        ...

    def units(self, rows: Sequence[int]) -> int:
        """What the loss of the examples `rows` is a mean over: so many examples, or words."""
        ...


class EncodedSplit:
    """The examples of a split as integers.

    Args:
        examples: all with the same number of sentences.
        vocabulary: of the words.
        targets: (n, ...), those of the examples, as a `Batch` has them.
        split_words: into sub-words, for a model that reads these.

    Raises:
        ValueError: if the examples are not alike.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        vocabulary: Vocabulary,
        targets: Tensor,
        split_words: Splitter | None = None,
    ) -> None:
        self.examples, self.targets = examples, targets
        widths = {len(e.sentences) for e in examples}
        if len(widths) > 1:
            raise ValueError(f"examples of {sorted(widths)} sentences in one split")
        self.tokens = [[vocabulary.encode(s.words) for s in e.sentences] for e in examples]
        self.lengths = [max(map(len, sides)) for sides in self.tokens]
        self.windows = None
        if split_words is not None:
            self.windows = [[split_words(s.words) for s in e.sentences] for e in examples]

    def __len__(self) -> int:
        return len(self.examples)

    def units(self, rows: Sequence[int]) -> int:
        """How many examples `rows` are: the loss is a mean over these."""
        return len(rows)

    def batch(self, rows: Sequence[int]) -> Batch:
        """The examples `rows` as one padded batch."""
        width = len(self.examples[rows[0]].sentences)
        sides = tuple(self._pad(rows, side) for side in range(width))
        index = torch.tensor(rows)
        return Batch(sides, self.targets[index], index)

    def _pad(self, rows: Sequence[int], side: int) -> PaddedSentences:
        tokens = [self.tokens[row][side] for row in rows]
        lengths = torch.tensor([len(t) for t in tokens])
        table, subwords, owners = padded(tokens, 0), None, None
        if self.windows is not None:
            windows = [self.windows[row][side] for row in rows]
            subwords, owners = padded_windows(windows, table.shape[1])
        sentences = [self.examples[row].sentences[side] for row in rows]
        known = [s.heads for s in sentences if s.heads is not None]
        if len(known) < len(rows):
            return PaddedSentences(table, lengths, None, None, subwords, owners)
        scored = None
        if any(s.scored is not None for s in sentences):
            scored = padded([s.scored or [True] * len(s.words) for s in sentences], False)
        return PaddedSentences(table, lengths, padded(known, -1), scored, subwords, owners)


def class_targets(examples: Sequence[Example], labels: Sequence[str]) -> Tensor:
    """(n,) int64, the class of each example: label i is the integer i, -1 an unknown one.

    Raises:
        ValueError: if a label is not among `labels`.
    """
    index = {label: i for i, label in enumerate(labels)} | {"": -1}
    check_labels(examples, index)
    return torch.tensor([index[example.label] for example in examples], dtype=torch.int64)


def check_labels(examples: Sequence[Example], known: Collection[str]) -> None:
    """Raise ValueError if an example has a label that training does not know."""
    for row, example in enumerate(examples):
        for label in example.names:
            if label not in known:
                names = [name for name in known if name]
                raise ValueError(
                    f"example {row}: the label {label!r} is not one of the {len(names)} of the "
                    f"training split: {', '.join(map(repr, names[:10]))}"
                    + (", ..." if len(names) > 10 else "")
                )


def padded(sequences: Sequence[Sequence[int]], padding: int) -> Tensor:
    """Sequences of integers, or of booleans, as the rows of a table, `padding` beyond their ends.

    By NumPy: PyTorch takes ten times as long to read lists.
    """
    kind = numpy.bool_ if isinstance(padding, bool) else numpy.int64
    lengths = numpy.array([len(sequence) for sequence in sequences])
    table = numpy.full((len(sequences), lengths.max()), padding, kind)
    values = numpy.fromiter(chain.from_iterable(sequences), kind, lengths.sum())
    table[numpy.arange(table.shape[1]) < lengths[:, None]] = values
    return torch.from_numpy(table)


class Batches:
    """All batches of a split.

    Args:
        split: the examples.
        size: examples in a batch; the last may have fewer.
        words: the most words of a batch, padding included, in place of `size`; sentences of like
            length come together. A longer one is alone in its batch.
        shuffle: a new order every epoch, of the examples or of batches that are composed once;
            None keeps one order, by length, and has fewer long sentences in a batch: what is
            remembered of a sentence grows with the square of its words.
        seed: of the order; the same seed and epoch give the same batches.
    """

    def __init__(
        self,
        split: Split,
        size: int,
        *,
        words: int | None = None,
        shuffle: Shuffle | None = None,
        seed: int = 0,
    ) -> None:
        if size < 1:
            raise ValueError(f"batch size: expected at least 1, got {size}")
        self.split, self.size, self.words = split, size, words
        self.shuffle, self.seed = shuffle, seed
        self._lengths = torch.tensor(split.lengths)

    def epoch(self, number: int = 0) -> Iterator[Any]:
        """The batches of epoch `number`."""
        for rows in self.order(number):
            yield self.split.batch(rows)

    def order(self, number: int = 0, at_most: int | None = None) -> list[list[int]]:
        """The rows of each batch of epoch `number`.

        Shuffled examples are sorted by length within pools of some batches, so that a batch holds
        little padding; then the batches are shuffled.

        Args:
            number: of the epoch.
            at_most: only examples of at most so many words. Where they are few each comes several
                times, so that there are up to 10,000 rows, or as many as without this limit.
        """
        rows = self._rows(at_most)
        if self.shuffle is None:
            return self.sorted_by_length(rows)
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
        if self.shuffle == "examples":
            order = rows[torch.randperm(len(rows), generator=generator)]
            pools = order.split(self.size * _POOL) if self.words is None else [order]
            ordered = [p[self._lengths[p].argsort(stable=True)] for p in pools]
            batches = [batch for pool in ordered for batch in self._cut(pool)]
        else:
            once = torch.Generator().manual_seed(self.seed)
            batches = self._cut(rows[torch.randperm(len(rows), generator=once)])
        shuffled = torch.randperm(len(batches), generator=generator)
        return [batches[i] for i in shuffled.tolist()]

    def sorted_by_length(self, rows: Tensor) -> list[list[int]]:
        """The batches of these rows alone, in order of length, with fewer long sentences in one."""
        ordered = rows[self._lengths[rows].argsort(stable=True)]
        if self.words is not None:
            return self._cut(ordered)
        return list(cut_by_pairs(ordered.tolist(), self.split.lengths, self.size))

    def _rows(self, at_most: int | None) -> Tensor:
        rows = torch.arange(len(self._lengths))
        if at_most is None:
            return rows
        short = rows[self._lengths <= at_most]
        return short.repeat(max(1, min(_EPOCH, len(rows)) // max(1, len(short))))

    def _cut(self, order: Tensor) -> list[list[int]]:
        if self.words is not None:
            return list(cut_by_words(order.tolist(), self.split.lengths, self.words))
        return [part.tolist() for part in order.split(self.size) if len(part)]


def cut_by_pairs(order: Sequence[int], lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """The rows `order`, short ones first, by batch: `size` rows, fewer of long sentences.

    A batch has at most as many pairs of words, padding included, as `size` sentences of 64 words.
    A sentence that has more is alone in its batch.
    """
    most = size * _WIDE**2
    return _cut_where(order, lengths, lambda n, longest: n > size or n * longest**2 > most)


def cut_by_words(order: Sequence[int], lengths: Sequence[int], words: int) -> Iterator[list[int]]:
    """The rows `order` by batch, of at most `words` words each, padding included.

    Args:
        order: rows; there is least padding where short ones come before long ones.
        lengths: of all rows, in words.
        words: a sentence of more is alone in its batch.
    """
    return _cut_where(order, lengths, lambda n, longest: n * longest > words)


def _cut_where(
    order: Sequence[int], lengths: Sequence[int], too_many: Callable[[int, int], bool]
) -> Iterator[list[int]]:
    """The rows by batch; of several rows, the longest being so long, none has `too_many`."""
    batch: list[int] = []
    longest = 0
    for row in order:
        longest = max(longest, lengths[row])
        if batch and too_many(len(batch) + 1, longest):
            yield batch
            batch, longest = [], lengths[row]
        batch.append(row)
    if batch:
        yield batch
