"""What a cell says of an example, by target."""

import pytest

from sparsewood.lab.data.examples import Example, Sentence
from sparsewood.lab.data.labels import classes_of, is_finite, joined, labelled
from sparsewood.lab.data.read_options import ReadOptions

SIDE = (Sentence(("oak",)),)
NUMBER, LABELS = ReadOptions(target="number"), ReadOptions(target="labels")


def test_a_class() -> None:
    assert labelled(SIDE, " good ", "a.tsv", 3) == Example(SIDE, "good")
    with pytest.raises(ValueError, match=r"^a\.tsv:3: an empty label$"):
        labelled(SIDE, " ", "a.tsv", 3)


def test_a_number() -> None:
    for text in ("-1", "4.50", "1e-3"):
        assert labelled(SIDE, f" {text}", "a.tsv", 3, NUMBER) == Example(SIDE, text)
    for text in ("four", "nan", "inf", "1e999", "1,5", "True"):
        assert not is_finite(text)
        with pytest.raises(ValueError, match=r"^a\.tsv:3: label: expected a finite number$"):
            labelled(SIDE, text, "a.tsv", 3, NUMBER)
    with pytest.raises(ValueError, match="an empty label"):
        labelled(SIDE, "", "a.tsv", 3, NUMBER)


def test_labels() -> None:
    assert labelled(SIDE, "b | a||b", "a.tsv", 3, LABELS).labels == ("b", "a")
    assert labelled(SIDE, " ", "a.tsv", 3, LABELS).labels == ()
    by_comma = ReadOptions(target="labels", label_separator=", ")
    assert labelled(SIDE, "b, a|c", "a.tsv", 3, by_comma).labels == ("b", "a|c")
    with pytest.raises(ValueError, match="label_separator: expected characters, got ''"):
        ReadOptions(label_separator="")


def test_lists_of_labels() -> None:
    assert joined(["a b", "c"], "a.jsonl", 1, LABELS) == "a b|c"
    with pytest.raises(
        ValueError, match=r"a\.jsonl:2: a label contains '\|'; set --label-separator"
    ):
        joined(["a|b"], "a.jsonl", 2, LABELS)
    with pytest.raises(ValueError, match=r"a\.jsonl:2: label: expected a list of texts, got int"):
        joined(["a", 1], "a.jsonl", 2, LABELS)


def test_what_training_has_to_have_seen() -> None:
    assert classes_of(Example(SIDE, "x"), "class") == ("x",)
    assert classes_of(Example(SIDE, "1"), "number") == ()
    assert classes_of(Example(SIDE, labels=("x", "y")), "labels") == ("x", "y")
    assert classes_of(Example(SIDE), "labels") == ()
