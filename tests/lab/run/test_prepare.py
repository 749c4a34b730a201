"""What is checked before training."""

import pytest
import torch

from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.sources import Classify
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.prepare import check, prepare
from sparsewood.lab.tasks import ModelConfig


def _corpus(**splits: list[Example]) -> Corpus:
    return Corpus("classify", dict(splits))


FLAT, GIVEN = ModelConfig(estimator="flat"), ModelConfig(estimator="given")
PARSED = Example((Sentence(("a", "b"), (0, 1)),), "x")
OTHER = Example((Sentence(("b", "a"), (0, 1)),), "y")
PLAIN = Example((Sentence(("a", "b")),), "x")


def test_the_seed_gives_the_model(make_config) -> None:
    first, again, other = (prepare(make_config(seed=s))[1].state_dict() for s in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_examples_that_are_left_out_are_told(tmp_path) -> None:
    (tmp_path / "a.tsv").write_text("x\ta b c\nx\ta\ny\ta b c d\ny\tb\n")
    path, notes = str(tmp_path / "a.tsv"), []
    source = Classify(path, validation=path, max_length=2)
    corpus, _, _ = prepare(RunConfig(source), notes.append)
    assert len(corpus.splits["train"]) == 2
    assert notes == ["2 of 4 training examples are longer than 2 words: left out"]


def test_splits_that_are_missing_or_empty() -> None:
    with pytest.raises(ValueError, match="'validation' has no examples"):
        check(_corpus(train=[PLAIN]), FLAT, print)
    with pytest.raises(ValueError, match="'test' has no examples"):
        check(_corpus(train=[PLAIN], validation=[PLAIN], test=[]), FLAT, print)


def test_one_label_is_too_few() -> None:
    with pytest.raises(ValueError, match=r"at least two labels to tell apart, got \['x'\]"):
        check(_corpus(train=[PLAIN], validation=[PLAIN]), FLAT, print)


def test_given_trees_need_heads() -> None:
    corpus = _corpus(train=[PARSED, OTHER], validation=[PARSED, PLAIN])
    assert check(corpus, ModelConfig(), print) is corpus
    with pytest.raises(ValueError, match="1 of the 2 .* 'validation' have none, example 1 "):
        check(corpus, GIVEN, print)
    many = _corpus(train=[OTHER] * 98 + [PLAIN], validation=[PARSED])
    with pytest.raises(ValueError, match="'train' have none, example 98 "):
        check(many, GIVEN, print)


def test_a_few_training_examples_may_lack_heads() -> None:
    notes: list[str] = []
    corpus = _corpus(train=[PLAIN, *[OTHER] * 99], validation=[PARSED])
    assert check(corpus, GIVEN, notes.append).splits["train"] == [OTHER] * 99
    assert notes == ["1 of 100 training examples have no heads: left out"]
