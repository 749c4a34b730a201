import json
from pathlib import Path

import pytest

from sparsewood.lab.data.definitions import (
    Dictionary,
    definition_words,
    read_definitions,
    read_dictionary,
    read_test,
)
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.wordnet import Definition


def _words(i: int) -> tuple[str, ...]:
    return (f"W{i}", f"also{i}") if i % 3 == 0 else (f"W{i}",)


DEFINITIONS = [Definition(_words(i), f"thing, number {i}", "noun") for i in range(60)]
DEFINITIONS += [Definition(("w1",), "another sense of 1", "noun")]
DEFINITIONS += [Definition(("w4",), "thing, number 1", "noun")]  # the text of w1


def _texts(corpus: Corpus, split: str) -> set[str]:
    return {" ".join(e.sentences[0].words) for e in corpus.splits[split]}


def _test(word: str, text: str) -> Example:
    return Example((Sentence(tuple(text.split())),), word)


def test_given_tests_decide_what_is_trained_on() -> None:
    tests = {"unseen": [_test("w1", "one")], "seen": [_test("w3", "three")]}
    dictionary = Dictionary(DEFINITIONS, tests, ["W3", "w2", "w3", "w4"])
    assert dictionary.candidates() == ["w2", "w3", "w4"]
    corpus = dictionary.corpus(["w2", "w4"])
    assert corpus.candidates == ("w2", "w4", "w1", "w3")
    assert {e.label for e in corpus.splits["train"]} == {"w2", "w3", "w4"}
    assert _texts(corpus, "train") == {f"thing , number {i}" for i in (2, 3, 4)}
    assert corpus.tests == ["unseen", "seen"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a well-known, self-made man", "a well - known , self - made man"),
        ("thick - walled pouch", "thick - walled pouch"),  # as the tests of Hill et al. have it
        ("a 45-degree turn in 1914-18", "a 45-degree turn in 1914-18"),
        ("the suffix -let", "the suffix -let"),
        ("a jack-in-the-box", "a jack - in - the - box"),
    ],
)
def test_compounds_are_split_at_hyphens(text: str, words: str) -> None:
    assert definition_words(text) == tuple(words.split())


def test_training_and_tests_read_a_definition_alike(tmp_path: Path) -> None:
    path = tmp_path / "test.json"
    path.write_text(json.dumps([{"word": "purse", "definitions": "a pocket - size case"}]))
    (test,) = read_test(path)
    dictionary = Dictionary([Definition(("purse",), "a pocket-size case", "noun")])
    assert dictionary.corpus(["purse"]).splits["train"] == [test]


def test_one_example_for_each_candidate_of_a_definition() -> None:
    corpus = Dictionary(DEFINITIONS[:1], {"concepts": [_test("z", "z")]}).corpus(["w0", "also0"])
    assert [e.label for e in corpus.splits["train"]] == ["w0", "also0"]


def test_validation_is_held_out_and_spares_the_seen() -> None:
    seen = [f"w{i}" for i in range(30)]
    dictionary = Dictionary(DEFINITIONS, {"seen": [_test(word, "x") for word in seen]})
    corpus = dictionary.corpus(dictionary.candidates())
    held_out = _texts(corpus, "validation")
    assert len(held_out) == len(DEFINITIONS) // 10
    assert not held_out & _texts(corpus, "train")
    assert not {e.label for e in corpus.splits["validation"]} & {*seen}


@pytest.mark.parametrize("seed", range(5))
def test_drawn_tests(seed: int) -> None:
    dictionary = Dictionary(DEFINITIONS, seed=seed)
    corpus = dictionary.corpus(dictionary.candidates())
    assert corpus.tests == ["seen", "unseen"]
    unseen = {e.label for e in corpus.splits["unseen"]}
    assert len(unseen) == len(corpus.candidates) // 10
    training = _texts(corpus, "train") | _texts(corpus, "validation")
    assert not _texts(corpus, "unseen") & training
    assert not unseen & {e.label for e in corpus.splits["train"]}
    assert _texts(corpus, "seen") <= _texts(corpus, "train")
    labels = {e.label for split in corpus.splits.values() for e in split}
    assert labels <= set(corpus.candidates)
    assert dictionary.corpus(dictionary.candidates()) == corpus


def test_words_keep_their_case_on_request() -> None:
    assert "W1" in Dictionary(DEFINITIONS, lowercase=False).candidates()


def test_a_folder(tmp_path: Path) -> None:
    rows = "coppice,small wood\ta small wood\tnoun\nold_wood\tan old wood\tnoun\nA\tletter\tnoun\n"
    (tmp_path / "x_definitions.tsv").write_text(rows)
    (tmp_path / "output_shortlist.txt").write_text("a\nb\n\n")
    entry = {"word": "Copse", "definitions": "a small wood.", "lexnames": []}
    (tmp_path / "data_desc_c.json").write_text(json.dumps([entry]))
    dictionary = read_dictionary(tmp_path, seed=4)
    assert dictionary.definitions == [
        Definition(("coppice",), "a small wood", "noun"),
        Definition(("A",), "letter", "noun"),
    ]
    assert dictionary.tests == {"concepts": [_test("copse", "a small wood .")]}
    assert (dictionary.shortlist, dictionary.seed) == (["a", "b"], 4)
    (tmp_path / "y_definitions.tsv").write_text(rows)
    with pytest.raises(ValueError, match="got 2 of these"):
        read_dictionary(tmp_path)


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    path = tmp_path / "definitions.tsv"
    for line in ("a\tb", "a\t \tnoun", "a\tb\tc\td"):
        path.write_text(f"a\tb\tnoun\n{line}\n")
        with pytest.raises(ValueError, match="definitions.tsv:2: expected lemmas, definition"):
            read_definitions(path)
    path = tmp_path / "test.json"
    for text, message in [
        ("[", "not readable as JSON"),
        ("{}", "expected a list, got dict"),
        ('[{"word": "a", "definitions": "b"}, {"word": "a"}]', "entry 1: expected `word`"),
        ("[3]", "entry 0: expected `word`"),
    ]:
        path.write_text(text)
        with pytest.raises(ValueError, match=f"test.json: {message}"):
            read_test(path)
