"""Batches: what they hold, and an order that a seed and an epoch fix."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsewood.lab.data.batches import Batches, EncodedSplit, Shuffle, class_targets
from sparsewood.lab.data.examples import Example, Sentence
from sparsewood.lab.data.vocabulary import UNKNOWN, Vocabulary

ORDERS: tuple[Shuffle | None, ...] = (None, "examples", "batches")
VOCABULARY = Vocabulary([UNKNOWN, *"abcdefghij"])


def sentence(length: int, heads: bool = True) -> Sentence:
    words = tuple("abcdefghij"[i % 10] for i in range(length))
    return Sentence(words, tuple(range(length)) if heads else None)


def split(lengths: list[int], heads: bool = True) -> EncodedSplit:
    examples = [Example((sentence(n, heads),), "xy"[n % 2]) for n in lengths]
    return EncodedSplit(examples, VOCABULARY, class_targets(examples, ["x", "y"]))


def test_a_batch_pads_words_and_heads():
    pairs = [
        Example((sentence(2), sentence(1, heads=False)), "y"),
        Example((sentence(3), sentence(2)), ""),
        Example((sentence(1), sentence(1)), "x"),
    ]
    encoded = EncodedSplit(pairs, VOCABULARY, class_targets(pairs, ["x", "y"]))
    batch = encoded.batch([1, 0])
    left, right = batch.sides
    assert left.tokens.tolist() == [[1, 2, 3], [1, 2, 0]]
    assert left.lengths.tolist() == [3, 2]
    assert left.heads is not None
    assert left.heads.tolist() == [[0, 1, 2], [0, 1, -1]]
    assert right.tokens.tolist() == [[1, 2], [1, 0]]
    assert right.heads is None  # one of the two has none
    assert batch.targets.tolist() == [-1, 1]
    assert batch.rows.tolist() == [1, 0]
    assert (len(batch), len(encoded)) == (2, 3)


def test_a_batch_says_which_words_are_scored():
    some = Sentence(("a", "b"), (0, 1), (True, False))
    examples = [Example((s,), "x") for s in (some, sentence(3), sentence(1, heads=False))]
    encoded = EncodedSplit(examples, VOCABULARY, class_targets(examples, ["x"]))
    (both,) = encoded.batch([0, 1]).sides
    assert both.scored is not None
    assert both.scored.tolist() == [[True, False, False], [True, True, True]]
    assert encoded.batch([1]).sides[0].scored is None
    assert encoded.batch([0, 2]).sides[0].scored is None  # not without heads
    moved = encoded.batch([0]).to("meta").sides[0].scored
    assert moved is not None
    assert moved.device.type == "meta"


def test_moving_a_batch_keeps_rows_on_the_cpu():
    moved = split([2, 3]).batch([0, 1]).to("meta")
    (side,) = moved.sides
    assert side.heads is not None
    tensors = (side.tokens, side.lengths, side.heads, moved.targets)
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert moved.rows.device.type == "cpu"
    assert split([2], heads=False).batch([0]).to("meta").sides[0].heads is None


def test_an_unknown_label_is_named():
    examples = [Example((sentence(1),), "x"), Example((sentence(1),), "z")]
    with pytest.raises(ValueError, match="example 1: the label 'z' is not one of the 1 .*: 'x'$"):
        class_targets(examples, ["x"])
    with pytest.raises(ValueError, match="one of the 11 .*'9', ...$"):
        class_targets(examples, [*"0123456789x"])


def test_sentences_and_pairs_do_not_mix():
    examples = [Example((sentence(1),), "x"), Example((sentence(1), sentence(1)), "x")]
    with pytest.raises(ValueError, match=r"examples of \[1, 2\] sentences in one split"):
        EncodedSplit(examples, VOCABULARY, class_targets(examples, ["x"]))


@given(st.lists(st.integers(1, 9), max_size=250), st.integers(1, 7), st.sampled_from(ORDERS))
def test_every_row_comes_once(lengths, size, shuffle):
    batches = Batches(split(lengths), size, shuffle=shuffle, seed=3)
    drawn = [batch.rows.tolist() for batch in batches.epoch(2)]
    assert drawn == batches.order(2)
    assert sorted(row for rows in drawn for row in rows) == list(range(len(lengths)))
    assert all(1 <= len(rows) <= size for rows in drawn)
    assert sum(len(rows) < size for rows in drawn) <= 1


@pytest.mark.parametrize("shuffle", ["examples", "batches"])
def test_seed_and_epoch_fix_the_order(shuffle):
    encoded = split([1 + i % 9 for i in range(100)])
    batches = Batches(encoded, 4, shuffle=shuffle, seed=1)
    state = torch.get_rng_state()
    order = batches.order(5)
    assert batches.order(5) == order
    assert Batches(encoded, 4, shuffle=shuffle, seed=1).order(5) == order
    assert batches.order(6) != order
    assert Batches(encoded, 4, shuffle=shuffle, seed=2).order(5) != order
    assert torch.equal(torch.get_rng_state(), state)


def test_batches_are_composed_once_or_every_epoch():
    encoded = split([1 + i % 9 for i in range(100)])
    anew, once = (Batches(encoded, 8, shuffle=shuffle) for shuffle in ORDERS[1:])
    assert sorted(anew.order(1)) != sorted(anew.order(2))
    assert sorted(once.order(1)) == sorted(once.order(2))

    def lengths(batches: Batches) -> int:
        return sum(len(set(batch.sides[0].lengths.tolist())) for batch in batches.epoch())

    assert lengths(once) > 2 * lengths(anew)


def test_without_shuffling_the_order_is_by_length():
    batches = Batches(split([3, 1, 2, 1]), 2)
    assert batches.order(0) == batches.order(1) == [[1, 3], [2, 0]]


def test_shuffled_batches_hold_little_padding():
    lengths = [1 + i * 7 % 50 for i in range(400)]
    encoded = split(lengths)
    padded = sum(b.sides[0].tokens.numel() for b in Batches(encoded, 8, shuffle="examples").epoch())
    assert padded < 1.1 * sum(lengths)


@given(
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=40),
    words=st.integers(1, 80),
    shuffle=st.sampled_from(ORDERS),
)
def test_batches_by_words(lengths, words, shuffle):
    batches = Batches(split(lengths), 1, words=words, shuffle=shuffle, seed=3).order(2)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= words


def test_batches_by_words_hold_little_padding_and_change():
    lengths = [1 + i * 7 % 50 for i in range(400)]
    batches = Batches(split(lengths), 1, words=100, shuffle="examples")
    padded = [len(b) * max(lengths[row] for row in b) for b in batches.order(0)]
    assert sum(padded) < 1.1 * sum(lengths)
    assert sorted(padded) != padded
    assert batches.order(0) != batches.order(1)


def test_batch_size_must_be_positive():
    with pytest.raises(ValueError, match="batch size: expected at least 1, got 0"):
        Batches(split([1]), 0)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=120), st.sampled_from(ORDERS))
def test_short_examples_alone(lengths, shuffle):
    order = Batches(split(lengths), 4, shuffle=shuffle, seed=3).order(2, at_most=5)
    short = [row for row, length in enumerate(lengths) if length <= 5]
    times = Counter(row for rows in order for row in rows)
    assert times == Counter({row: len(lengths) // len(short) for row in short})


def test_few_short_examples_come_several_times(monkeypatch):
    batches = Batches(split([1] * 3 + [9] * 40), 4, shuffle="examples")
    assert sum(map(len, batches.order(0, at_most=1))) == 42
    monkeypatch.setattr("sparsewood.lab.data.batches._EPOCH", 10)
    assert sum(map(len, batches.order(0, at_most=1))) == 9
    assert sum(map(len, batches.order(0, at_most=9))) == 43
    assert batches.order(0, at_most=9) == batches.order(0)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=60), st.integers(1, 7))
def test_batches_that_are_not_shuffled_have_fewer_long_sentences(
    lengths: list[int], size: int
) -> None:
    batches = Batches(split(lengths), size).order()
    rows = [row for batch in batches for row in batch]
    assert sorted(rows) == list(range(len(lengths)))
    assert [lengths[row] for row in rows] == sorted(lengths)
    for batch, after in zip(batches, [*batches[1:], []], strict=True):
        longest = max(lengths[row] for row in batch)
        assert len(batch) <= size
        assert len(batch) == 1 or len(batch) * longest**2 <= size * 64**2
        if after:  # there was no room for its first
            longer = lengths[after[0]]
            assert len(batch) == size or (len(batch) + 1) * longer**2 > size * 64**2


def test_of_short_sentences_batches_are_full() -> None:
    assert [len(batch) for batch in Batches(split([64] * 10), 4).order()] == [4, 4, 2]
