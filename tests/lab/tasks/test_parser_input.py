import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.tasks._parser_input import ParserInput, characters_of, length_batches

OAK, WOOD = Sentence(("Oak", "wood"), (2, 0)), Sentence(("oak",), (0,))


def make() -> ParserInput:
    return ParserInput(["<unk>", "wood"], ["<unk>", "oak"], list("adko"))


def test_a_batch_holds_words_rows_and_spellings() -> None:
    batch = make().batch([OAK, WOOD])
    assert batch.words.tolist() == [[0, 1], [0, 0]]
    assert batch.rows.tolist() == [[1, 0], [1, 0]]
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


@given(
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=40),
    budget=st.integers(1, 80),
    seed=st.none() | st.integers(0, 99),
)
def test_batches_hold_each_sentence_once_within_the_budget(
    lengths: list[int], budget: int, seed: int | None
) -> None:
    def order() -> list[list[int]]:
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        return length_batches(lengths, budget, generator)

    batches = order()
    assert order() == batches
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= budget


def test_no_words() -> None:
    with pytest.raises(ValueError, match="first"):
        ParserInput([], ["<unk>"], [])
