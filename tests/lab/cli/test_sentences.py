import pytest

from sparsewood.lab.cli._sentences import read_sentences
from sparsewood.lab.data import Sentence
from sparsewood.lab.data.definitions import definition_words


def test_sentences_are_tokenised() -> None:
    assert read_sentences(["A dog runs."]) == [Sentence(("A", "dog", "runs", "."))]


def test_a_model_may_split_words_in_its_own_way() -> None:
    (found,) = read_sentences(["a self-made man"], words_of=definition_words)
    assert found == Sentence(("a", "self", "-", "made", "man"))


def test_list_operations_have_their_trees() -> None:
    operation, other = read_sentences(["[MAX 2 9 ]", "[MAX 2 9"])
    assert operation == Sentence(("[MAX", "2", "9", "]"), (0, 1, 1, 1))
    assert other.heads is None


def test_a_parser_is_asked_once_for_what_has_no_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def parse(sentences: list[tuple[str, ...]], *_: object, **__: object) -> list[tuple[int, ...]]:
        asked.append(sentences)
        return [(0,) * len(words) for words in sentences]

    monkeypatch.setattr("sparsewood.lab.cli._sentences.parse_sentences", parse)
    found = read_sentences(["a b", Sentence(("c", "d"), (2, 0)), "e"], "spacy")
    assert [sentence.heads for sentence in found] == [(0, 0), (2, 0), (0,)]
    assert asked == [[("a", "b"), ("e",)]]
