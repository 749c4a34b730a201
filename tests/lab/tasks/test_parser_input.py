import pytest

from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.tasks._parser_input import ParserInput, characters_of, is_punctuation

OAK, WOOD = Sentence(("Oak", "wood"), (2, 0)), Sentence(("oak",), (0,))


def make() -> ParserInput:
    return ParserInput(["<unk>", "wood"], ["<unk>", "oak"], list("adko"))


def test_a_batch_holds_words_rows_and_spellings() -> None:
    batch = make().batch([OAK, WOOD])
    assert batch.words.tolist() == [[0, 1], [0, 0]]
    assert batch.vectors.tolist() == [[1, 0], [1, 0]]
    assert batch.lengths.tolist() == [2, 1]
    assert batch.heads is not None
    assert batch.heads.tolist() == [[2, 0], [0, -1]]
    start, end, unknown, (a, d, k, o) = 2, 3, 1, range(4, 8)
    assert batch.spellings.tolist() == [
        [start, unknown, a, k, end, 0],  # the first letter of "Oak" is not among the characters
        [start, unknown, o, o, d, end],
        [start, o, a, k, end, 0],
    ]
    assert batch.spelled.tolist() == [[0, 1], [2, 0]]
    assert make().alphabet == 8


def test_heads_are_known_of_all_sentences_or_none() -> None:
    assert make().batch([OAK, Sentence(("oak",))]).heads is None


def test_long_words_keep_both_ends() -> None:
    spelled = make().batch([Sentence(("o" * 20 + "a" * 20,))]).spellings
    assert spelled.tolist() == [[2, *[7] * 12, *[4] * 12, 3]]


def test_characters_that_occur_often_enough() -> None:
    assert characters_of([OAK, WOOD]) == ["a", "k", "o"]
    assert characters_of([WOOD], min_count=1) == ["a", "k", "o"]


def test_no_words() -> None:
    with pytest.raises(ValueError, match="first"):
        ParserInput([], ["<unk>"], [])


def test_punctuation_is_what_unicode_says() -> None:
    assert all(map(is_punctuation, (".", "...", "-", "¿", "—")))
    assert not any(map(is_punctuation, ("$", "+", "a.", "-)a", "1")))
    batch = make().batch([Sentence(("Oak", "!")), Sentence(("?",))])
    assert batch.punctuation.tolist() == [[False, True], [True, False]]
