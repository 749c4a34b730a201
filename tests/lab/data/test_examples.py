"""The corpus: its labels, tests and sentences."""

from sparsewood.lab.data.examples import Corpus, Example, Sentence


def example(text: str, label: str) -> Example:
    return Example((Sentence(tuple(text.split())),), label)


CORPUS = Corpus(
    "classify",
    {
        "train": [example("a b", "yes"), example("c", "no"), example("d", "yes"), example("e", "")],
        "validation": [example("f g", "maybe")],
        "easy": [example("h", "no")],
        "hard": [],
    },
)


def test_labels_are_those_of_training_sorted_without_the_unknown():
    assert CORPUS.labels == ["no", "yes"]


def test_all_other_splits_are_tests():
    assert CORPUS.tests == ["easy", "hard"]


def test_sentences_of_all_splits_and_sides():
    pair = Example((Sentence(("p",)), Sentence(("q",))), "no")
    corpus = Corpus("nli", {"train": [pair], "validation": [pair], "test": [pair]})
    assert [s.words[0] for s in corpus.sentences()] == ["p", "q"] * 3
    assert [len(s.words) for s in CORPUS.sentences()] == [2, 1, 1, 1, 2, 1]
