import pytest

from sparsewood.lab.cli._sentences import with_heads
from sparsewood.lab.data import Sentence


def test_a_parser_is_asked_once_for_what_has_no_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def parse(sentences: list[tuple[str, ...]], *_: object, **__: object) -> list[tuple[int, ...]]:
        asked.append(sentences)
        return [(0,) * len(words) for words in sentences]

    monkeypatch.setattr("sparsewood.lab.cli._sentences.parse_sentences", parse)
    sentences = [Sentence(("a", "b")), Sentence(("c", "d"), (2, 0)), Sentence(("e",))]
    assert with_heads(sentences, None) == sentences
    found = with_heads(sentences, "spacy")
    assert [sentence.heads for sentence in found] == [(0, 0), (2, 0), (0,)]
    assert asked == [[("a", "b"), ("e",)]]
