"""Words as integers."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.data.vocabulary import UNKNOWN, Vocabulary

SENTENCES = st.lists(st.lists(st.sampled_from("a A b B c <unk> <UNK> é É".split()), min_size=1))


def build(sentences, **options) -> Vocabulary:
    return Vocabulary.build([Sentence(tuple(words)) for words in sentences], **options)


@given(SENTENCES, st.booleans(), st.integers(1, 3))
def test_frequent_words_are_kept_and_come_first(sentences, lowercase, min_count):
    vocabulary = build(sentences, lowercase=lowercase, min_count=min_count)
    counts = Counter(w.lower() if lowercase else w for words in sentences for w in words)
    kept = {w for w, n in counts.items() if n >= min_count} - {UNKNOWN}
    assert vocabulary.words[0] == UNKNOWN
    assert set(vocabulary.words[1:]) == kept
    assert len(vocabulary) == len(kept) + 1
    order = [(-counts[word], word) for word in vocabulary.words[1:]]
    assert order == sorted(order)


@given(SENTENCES, st.booleans())
def test_encoding_gives_back_the_words(sentences, lowercase):
    vocabulary = build(sentences, lowercase=lowercase)
    for words in sentences:
        for word, index in zip(words, vocabulary.encode(words), strict=True):
            assert word in vocabulary
            assert vocabulary.words[index] == (word.lower() if lowercase else word)


def test_unknown_words_are_zero():
    vocabulary = Vocabulary([UNKNOWN, "oak"])
    assert vocabulary.encode(["Oak", "fern", UNKNOWN]) == [1, 0, 0]
    assert "fern" not in vocabulary
    assert Vocabulary([UNKNOWN, "oak"], lowercase=False).encode(["Oak"]) == [0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected '<unk>' first, got \\[\\]"),
        (["oak"], "expected '<unk>' first, got \\['oak'\\]"),
        ([UNKNOWN, "oak", "elm", "oak"], "'oak' occurs twice"),
    ],
)
def test_lists_that_are_no_vocabulary(words, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary(words)
