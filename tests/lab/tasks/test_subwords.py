"""Words as sub-words, and windows of them."""

from itertools import pairwise
from typing import Any

import pytest

from sparsewood.lab.tasks.subwords import SubWords
from tests import encoders

pytest.importorskip("transformers", reason="the extra [hf] is not installed")
UNKNOWN, CLS, SEP = 1, 2, 3


@pytest.fixture(scope="module")
def pieces() -> Any:
    return encoders.word_pieces()


@pytest.fixture(scope="module")
def pairs() -> Any:
    return encoders.byte_pairs()


def split(tokenizer: Any, limit: int | None = None) -> SubWords:
    return SubWords(tokenizer.to_str(), UNKNOWN, limit)


def test_words_are_split_as_the_tokenizer_does(pieces: Any) -> None:
    words = ["The", "foxes", "LIKE", "elm"]
    (window,) = split(pieces)(words)
    expected = pieces.encode(words, is_pretokenized=True)
    assert window.subwords == expected.ids
    assert window.owners == [-1 if i is None else i for i in expected.word_ids]
    assert max(map(window.owners.count, range(4))) > 1  # of some word there are several


def test_to_a_tokenizer_of_bytes_words_are_as_in_running_text(pairs: Any) -> None:
    words = ["the", "Oak", "oak", "n't"]
    (window,) = split(pairs)(words)
    assert window.subwords == pairs.encode(" the Oak oak n't").ids
    assert set(window.owners) == {-1, 0, 1, 2, 3}
    upper, lower = (split(pairs)([word])[0].subwords for word in ("Oak", "oak"))
    assert upper != lower


def test_a_tokenizer_that_cuts_and_pads_does_neither(pieces: Any) -> None:
    changed = type(pieces).from_str(pieces.to_str())
    changed.enable_truncation(4)
    changed.enable_padding(length=20)
    assert split(changed)(["elm"] * 9) == split(pieces)(["elm"] * 9)


def test_every_word_has_a_subword(pieces: Any) -> None:
    nothing = "\u200b\u0007"  # characters that the tokenizer throws away
    (window,) = split(pieces)(["oak", nothing, "elm", nothing])
    oak, elm = pieces.token_to_id("oak"), pieces.token_to_id("elm")
    assert window.subwords == [CLS, oak, UNKNOWN, elm, UNKNOWN, SEP]
    assert window.owners == [-1, 0, 1, 2, 3, -1]


def test_only_words_without_subwords_are_unknown(pieces: Any, pairs: Any) -> None:
    assert split(pieces).unknown(["elm", "elmelm", "木", "\u200b", "elm木"]) == {"木", "\u200b"}
    assert split(pairs).unknown(["elm", "木"]) == set()


@pytest.mark.parametrize("limit", [3, 4, 5, 8, 11])
def test_windows_hold_every_subword_once(pieces: Any, limit: int) -> None:
    oak, room = pieces.token_to_id("oak"), limit - 2
    for n in range(1, 40):
        windows = split(pieces, limit)(["oak"] * n)
        assert all(w.subwords == [CLS, *[oak] * (len(w.owners) - 2), SEP] for w in windows)
        assert max(len(w.subwords) for w in windows) == min(n, room) + 2
        assert [i for w in windows for i in w.owners if i >= 0] == list(range(n))
        for before, after in pairwise(windows):
            # What is read has a quarter of a window before and after it.
            own = len(before.owners) - 1 - max(k for k, i in enumerate(before.owners) if i >= 0)
            assert own - 1 >= room // 4
            assert next(k for k, i in enumerate(after.owners) if i >= 0) - 1 >= room // 4


def test_a_long_word_lies_in_several_windows(pairs: Any) -> None:
    word = "elmoakfigteabay" * 3
    (whole,) = split(pairs)([word])
    windows = split(pairs, 8)([word])
    kept = [s for w in windows for s, i in zip(*w, strict=True) if i == 0]
    assert len(windows) > 1
    assert kept == whole.subwords[1:-1]
