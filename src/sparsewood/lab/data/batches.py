"""Batches of examples as padded tensors, in an order that depends on a seed and the epoch."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, Protocol

import numpy
import torch
from torch import Tensor

from sparsewood._internal.host import move
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.vocabulary import Vocabulary
from sparsewood.lab.data.windows import Splitter, Window, padded_windows, subwords_in
from sparsewood.lab.data.word_states import WordStates

Shuffle = Literal["examples", "batches"]

_POOL = 50  # number of batches whose examples are sorted by length together
_WIDE = 64  # length from which unshuffled batches have fewer sentences
_EPOCH = 10_000  # a smaller number of short examples is repeated up to this number


@dataclass(frozen=True)
class PaddedSentences:
    """Sentences of a batch.

    Attributes:
        tokens: (B, n) int64, 0 beyond the lengths.
        lengths: (B,) int64.
        heads: (B, n) int64, -1 beyond the lengths; None unless every sentence has heads.
        scored: (B, n) bool, the words with a meaningful head; None: all, or no heads.
        subwords: (R, p) int64, windows of sub-words, -1 beyond their ends; None without sub-words.
        owners: (R, p) int64, the word of each sub-word, b * n + i for word i of sentence b; -1 for
            none.
        states: (B, n, .) float32, kept outputs of a frozen encoder, in place of sub-words.
    """

    tokens: Tensor
    lengths: Tensor
    heads: Tensor | None
    scored: Tensor | None = None
    subwords: Tensor | None = None
    owners: Tensor | None = None
    states: Tensor | None = None


@dataclass(frozen=True)
class Batch:
    """Some rows of a split.

    Attributes:
        sides: the sentences; a second entry holds the hypotheses of pairs.
        targets: the class of each example, (B,) int64, -1 if unknown; its number, (B,) float64, NaN
            if unknown; or whether it has each label, (B, labels) int64, -1 if unknown.
        rows: (B,) int64, on the CPU: the indices of the examples in the split.
    """

    sides: tuple[PaddedSentences, ...]
    targets: Tensor
    rows: Tensor

    def to(self, device: torch.device | str) -> "Batch":
        """The batch on `device`, moved in one transfer; the host keeps a copy of the values."""
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
        """The number of examples: the loss is a mean over them."""
        return len(self)


class Split(Protocol):
    """The examples of a split, which makes batches of them.

    Attributes:
        states: kept outputs of a frozen encoder, which batches then contain.
    """

    states: WordStates | None

    @property
    def examples(self) -> Sequence[Example]:
        """The examples as read."""
        ...

    @property
    def lengths(self) -> Sequence[int]:
        """The length of the longest sentence of each example."""
        ...

    @property
    def sizes(self) -> Sequence[int]:
        """The `lengths`, or those in sub-words if training runs a pretrained encoder."""
        ...

    def batch(self, rows: Sequence[int]) -> Any:
        """The examples `rows` as one batch, which has `rows`, `units` and `to(device)`."""
        ...

    def units(self, rows: Sequence[int]) -> int:
        """The number of examples or words over which the loss of the examples `rows` is a mean."""
        ...


class EncodedSplit:
    """The examples of a split as integers.

    Args:
        examples: all with the same number of sentences.
        vocabulary: the vocabulary.
        targets: (n, ...), the targets of the examples, as in `Batch`.
        split_words: splits words into sub-words, for a model that reads them.
        by_subwords: whether `sizes` counts sub-words.

    Raises:
        ValueError: if the examples differ in their number of sentences.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        vocabulary: Vocabulary,
        targets: Tensor,
        split_words: Splitter | None = None,
        *,
        by_subwords: bool = False,
    ) -> None:
        self.examples, self.targets = examples, targets
        widths = {len(e.sentences) for e in examples}
        if len(widths) > 1:
            raise ValueError(f"examples of {sorted(widths)} sentences in one split")
        self.tokens = [[vocabulary.encode(s.words) for s in e.sentences] for e in examples]
        self.lengths = [max(map(len, sides)) for sides in self.tokens]
        self.states: WordStates | None = None
        self._split_words = split_words
        self.sizes = self.lengths
        if by_subwords and self.windows is not None:
            self.sizes = [max(map(subwords_in, sides)) for sides in self.windows]

    @cached_property
    def windows(self) -> list[list[list[Window]]] | None:
        """The windows of sub-words of each sentence of each example, if the model reads them."""
        split = self._split_words
        if split is None:
            return None
        return [[split(s.words) for s in e.sentences] for e in self.examples]

    def __len__(self) -> int:
        return len(self.examples)

    def units(self, rows: Sequence[int]) -> int:
        """The number of examples `rows`: the loss is a mean over them."""
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
        table, subwords, owners, states = padded(tokens, 0), None, None, None
        sentences = [self.examples[row].sentences[side] for row in rows]
        if self.states is not None:
            states = self.states.batch([s.words for s in sentences])
        elif self.windows is not None:
            windows = [self.windows[row][side] for row in rows]
            subwords, owners = padded_windows(windows, table.shape[1])
        known = [s.heads for s in sentences if s.heads is not None]
        heads, scored = None, None
        if len(known) == len(rows):
            heads = padded(known, -1)
            if any(s.scored is not None for s in sentences):
                scored = padded([s.scored or [True] * len(s.words) for s in sentences], False)
        return PaddedSentences(table, lengths, heads, scored, subwords, owners, states)


def class_targets(examples: Sequence[Example], labels: Sequence[str]) -> Tensor:
    """(n,) int64, the class of each example: i for label i, -1 if unknown.

    Raises:
        ValueError: if a label is not among `labels`.
    """
    index = {label: i for i, label in enumerate(labels)} | {"": -1}
    check_labels(examples, index)
    return torch.tensor([index[example.label] for example in examples], dtype=torch.int64)


def check_labels(examples: Sequence[Example], known: Collection[str]) -> None:
    """Raise ValueError if an example has a label that is not in training."""
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

    This uses NumPy: PyTorch takes ten times as long to read lists.
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
        words: maximum words of a batch (sub-words where the `sizes` of the split count them),
            including padding, instead of `size`; sentences of similar length are batched together.
            A longer sentence has its own batch.
        shuffle: a new order every epoch, of the examples or of fixed batches; None keeps the order
            by length, with fewer long sentences per batch: memory grows with the square of the
            length.
        seed: seed of the order; the same seed and epoch give the same batches.
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
        self._lengths, self._sizes = torch.tensor(split.lengths), torch.tensor(split.sizes)

    def epoch(self, number: int = 0) -> Iterator[Any]:
        """The batches of epoch `number`."""
        for rows in self.order(number):
            yield self.split.batch(rows)

    def order(self, number: int = 0, at_most: int | None = None) -> list[list[int]]:
        """The rows of each batch of epoch `number`.

        Shuffled examples are sorted by length within pools of some batches, so that a batch holds
        little padding; then the batches are shuffled.

        Args:
            number: number of the epoch.
            at_most: maximum length of examples. If there are few, each is repeated, so that there
                are up to 10,000 rows, or as many as without this limit.
        """
        rows = self._rows(at_most)
        if self.shuffle is None:
            return self.sorted_by_length(rows)
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
        if self.shuffle == "examples":
            order = rows[torch.randperm(len(rows), generator=generator)]
            pools = order.split(self.size * _POOL) if self.words is None else [order]
            ordered = [p[self._sizes[p].argsort(stable=True)] for p in pools]
            batches = [batch for pool in ordered for batch in self._cut(pool)]
        else:
            once = torch.Generator().manual_seed(self.seed)
            batches = self._cut(rows[torch.randperm(len(rows), generator=once)])
        shuffled = torch.randperm(len(batches), generator=generator)
        return [batches[i] for i in shuffled.tolist()]

    def sorted_by_length(self, rows: Tensor) -> list[list[int]]:
        """The batches of these rows, in order of length, with fewer long sentences per batch."""
        ordered = rows[self._sizes[rows].argsort(stable=True)]
        if self.words is not None:
            return self._cut(ordered)
        return list(cut_by_pairs(ordered.tolist(), self.split.sizes, self.size))

    def _rows(self, at_most: int | None) -> Tensor:
        rows = torch.arange(len(self._lengths))
        if at_most is None:
            return rows
        short = rows[self._lengths <= at_most]
        return short.repeat(max(1, min(_EPOCH, len(rows)) // max(1, len(short))))

    def _cut(self, order: Tensor) -> list[list[int]]:
        if self.words is not None:
            return list(cut_by_words(order.tolist(), self.split.sizes, self.words))
        return [part.tolist() for part in order.split(self.size) if len(part)]


def cut_by_pairs(order: Sequence[int], lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Cut the rows `order`, short ones first, into batches of `size` rows, fewer for long
    sentences.

    A batch has at most as many pairs of words, including padding, as `size` sentences of 64 words.
    A sentence with more has its own batch.
    """
    most = size * _WIDE**2
    return _cut_where(order, lengths, lambda n, longest: n > size or n * longest**2 > most)


def cut_by_words(order: Sequence[int], lengths: Sequence[int], words: int) -> Iterator[list[int]]:
    """Cut the rows `order` into batches of at most `words` words, including padding.

    Args:
        order: rows; padding is minimal if they are sorted by length.
        lengths: lengths of all rows, in words.
        words: maximum; a longer sentence has its own batch.
    """
    return _cut_where(order, lengths, lambda n, longest: n * longest > words)


def _cut_where(
    order: Sequence[int], lengths: Sequence[int], too_many: Callable[[int, int], bool]
) -> Iterator[list[int]]:
    """Cut rows into batches so that `too_many` is false for the size and longest row of each."""
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
