import pytest

from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.tasks.attachment import Attachment, is_punctuation


def test_counts_words_with_and_without_punctuation() -> None:
    score = Attachment()
    assert score.values() == {}
    score.add(Sentence(("Oaks", "grow", "."), (2, 0, 2)), (2, 0, 1))
    score.add(Sentence(("Yes",), (0,)), (0,))
    values = score.values()
    assert values == {
        "uas": pytest.approx(75.0),
        "uas_without_punctuation": pytest.approx(100.0),
        "exact": pytest.approx(50.0),
    }


def test_punctuation_is_what_unicode_says() -> None:
    assert all(map(is_punctuation, (".", "...", "-", "¿", "—")))
    assert not any(map(is_punctuation, ("$", "+", "a.", "-)a", "1")))


def test_heads_of_another_sentence() -> None:
    score = Attachment()
    with pytest.raises(ValueError, match="2 known heads, 1 predicted"):
        score.add(Sentence(("a", "b"), (0, 1)), (0,))
    with pytest.raises(ValueError, match="no known heads"):
        score.add(Sentence(("a",)), (0,))
