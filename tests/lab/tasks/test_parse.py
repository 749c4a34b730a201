"""The dependency parser, on a made-up treebank."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import sparsewood as sp
from sparsewood.lab.data.batches import Batches
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.vectors import WordVectors
from sparsewood.lab.run import evaluate
from sparsewood.lab.tasks.build import load_model, load_parser
from sparsewood.lab.tasks.parse import LOSSES, DependencyParser, ParserConfig

SMALL = ParserConfig(
    embedding=12, characters=6, filters=8, layers=2, hidden=16, arc=16, dropout=0.0
)
NOUNS, VERBS, PLACES = ("oaks", "elms", "owls"), ("shade", "see", "feed"), ("in", "near")


def treebank(size: int, seed: int) -> list[Sentence]:
    """Subject, verb, object, and at times a place that hangs from the object or from the verb."""
    draw = random.Random(seed)
    sentences = []
    for _ in range(size):
        words, heads = [draw.choice(NOUNS), draw.choice(VERBS), draw.choice(NOUNS)], [2, 0, 2]
        place = draw.choice((None, *PLACES))
        if place is not None:  # "in" goes with the object, "near" with the verb
            words += [place, draw.choice(NOUNS)]
            heads += [5, 3 if place == "in" else 2]
        words.append(".")
        heads.append(2)
        sentences.append(Sentence(tuple(words), tuple(heads)))
    return sentences


def vectors() -> WordVectors:
    words = [*NOUNS, *VERBS, *PLACES, "ash"]
    generator = torch.Generator().manual_seed(1)
    return WordVectors(5, words, torch.randn(len(words), 5, generator=generator))


def build(
    sentences: list[Sentence], table: WordVectors | None = None, options: ParserConfig = SMALL
) -> DependencyParser:
    torch.manual_seed(0)
    corpus = Corpus("parse", {"train": [Example((sentence,)) for sentence in sentences]})
    return DependencyParser.build(corpus, options, table, min_count=2)


def train(parser: DependencyParser, sentences: list[Sentence], steps: int) -> None:
    optimizer = torch.optim.Adam(parser.parameters(), 0.01)
    batch = parser.input.batch(sentences)
    parser.train()
    for _ in range(steps):
        optimizer.zero_grad()
        loss = parser(batch).loss
        assert loss is not None
        (loss.sum() / batch.units).backward()
        optimizer.step()


@pytest.mark.parametrize("loss", LOSSES)
def test_learns_the_treebank(loss: Any) -> None:
    sentences = treebank(24, seed=0)
    parser = build(sentences, vectors(), replace(SMALL, loss=loss))
    train(parser, sentences, steps=80)
    split = parser.encode([Example((sentence,)) for sentence in sentences])
    found = evaluate(parser, Batches(split, 7))
    assert found["uas"] == found["uas_without_punctuation"] == found["exact"] == 100
    assert found["unknown"] == 0
    words = [s.words for s in sentences]
    assert parser.parse(words) == [s.heads for s in sentences]


def test_what_lies_between_two_words_is_learned_beside_the_biaffine_scorer(tmp_path: Path) -> None:
    sentences = treebank(24, seed=0)
    parser = build(sentences, vectors(), replace(SMALL, scorer="both"))
    between = parser.between
    assert between is not None
    before = between.between.detach().clone()
    train(parser, sentences, steps=80)
    assert not torch.equal(between.between, before)
    words = [s.words for s in sentences]
    assert parser.parse(words) == [s.heads for s in sentences]
    parser.save_pretrained(tmp_path)
    assert load_parser(tmp_path).parse(words) == parser.parse(words)


def test_trees_have_one_root_and_batches_do_not_matter() -> None:
    parser = build(treebank(8, seed=0), vectors())
    words = [s.words for s in treebank(12, seed=2)]
    heads = parser.parse(words)
    assert heads == [parser.parse([one], budget=1)[0] for one in words]
    trees = sp.DependencyTrees(single_root=True)
    assert all(
        trees.contains(torch.tensor([tree]), (len(tree), len(tree) + 1)).all() for tree in heads
    )
    assert dict(parser.parsed(words)) == dict(enumerate(heads))
    assert parser.parse([]) == []


def test_parsing_leaves_the_mode_alone() -> None:
    parser = build(treebank(4, seed=0))
    for mode in (True, False):
        parser.train(mode)
        parser.parse([("oaks",)])
        assert parser.training is mode
    with pytest.raises(ValueError, match="sentence 1 has no words"):
        parser.parse([("oaks",), ()])


def test_dropout_acts_while_training_alone() -> None:
    parser = build(treebank(4, seed=0), vectors(), replace(SMALL, dropout=0.5))
    batch = parser.input.batch(treebank(4, seed=0))
    assert not torch.equal(parser.scores(batch), parser.scores(batch))
    parser.eval()
    assert torch.equal(parser.scores(batch), parser.scores(batch))


def test_the_loss_is_that_of_each_sentence_and_its_mean_one_over_words() -> None:
    parser = build(treebank(4, seed=0))
    sentences = treebank(3, seed=1)
    split = parser.encode([Example((sentence,)) for sentence in sentences])
    batch = split.batch([2, 0])
    assert batch.rows.tolist() == [2, 0]
    assert batch.heads is not None
    each = sp.crf_loss(
        parser.scores(batch), batch.heads, parser.structure, lengths=batch.lengths, reduction="none"
    )
    output = parser(batch)
    torch.testing.assert_close(output.loss, each)
    assert output.posteriors == ()  # while training, trees are not asked for
    assert split.units([2, 0]) == batch.units == sum(len(sentences[i].words) for i in (2, 0))
    assert parser(parser.input.batch([Sentence(("oaks",))])).loss is None
    with pytest.raises(ValueError, match="example 1: 2 sentences, expected one"):
        parser.encode([Example((sentences[0],)), Example((sentences[0], sentences[1]))])


def test_words_of_which_only_the_spelling_is_seen() -> None:
    parser = build(treebank(8, seed=0), vectors())
    assert parser.unknown(["Oaks", "ash", "yew", "."]) == ["yew"]


def test_vectors_serve_words_that_training_has_not_seen() -> None:
    parser = build(treebank(4, seed=0), vectors())
    known, unknown = (int(parser.input.batch([Sentence((w,))]).vectors) for w in ("Ash", "yew"))
    torch.testing.assert_close(
        parser.vectors[known].float(), vectors().lookup(["ash"])[0], rtol=1e-3, atol=1e-3
    )
    assert unknown == 0
    assert not parser.vectors[0].any()
    assert "vectors" not in dict(parser.named_parameters())


def test_saved_and_loaded(tmp_path: Path) -> None:
    parser = build(treebank(8, seed=0), vectors())
    words = [s.words for s in treebank(5, seed=3)]
    parser.save_pretrained(tmp_path)
    for loaded in (load_model(tmp_path), DependencyParser.from_pretrained(tmp_path)):
        assert isinstance(loaded, DependencyParser)
        assert loaded.options == parser.options
        assert loaded.vectors.dtype == torch.float16
        assert loaded.parse(words) == parser.parse(words)
        assert not loaded.training


def test_a_run_or_its_model_is_a_parser_and_nothing_else_is(tmp_path: Path, make: Any) -> None:
    with pytest.raises(ValueError, match="absent: no such folder"):
        load_parser(tmp_path / "absent")
    with pytest.raises(ValueError, match="neither a run nor a model"):
        load_parser(tmp_path)
    build(treebank(4, seed=0)).save_pretrained(tmp_path / "run" / "model")
    assert type(load_parser(tmp_path / "run")) is DependencyParser
    make("classify")[0].save_pretrained(tmp_path / "other")
    with pytest.raises(ValueError, match="other: is a model for classify, not a parser"):
        load_parser(tmp_path / "other")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": 0}, "layers"),
        ({"dropout": 1.0}, "dropout"),
        ({"loss": "mse"}, "loss"),
        ({"scorer": "mlp"}, "scorer"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=rf"model\.{message}: expected"):
        ParserConfig(**options)
