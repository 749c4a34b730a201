"""Metrics by length: what is counted, where bins end, and that they add up to the whole."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sparsewood.lab.data import Batches, Corpus, Example, ListOps, Sentence
from sparsewood.lab.data.sources import Logic, Subj
from sparsewood.lab.run import Bins, ByLength, Progress, RunConfig, evaluate, train
from sparsewood.lab.run.prepare import prepare


def example(*lengths: int, word: str = "oak") -> Example:
    return Example(tuple(Sentence((word,) * n) for n in lengths), "a")


def corpus(*lengths: int) -> Corpus:
    return Corpus(
        "classify", {"train": [example(3), example(9)], "test": list(map(example, lengths))}
    )


SOURCE = Subj(Path("nowhere"))


def test_the_longer_sentence_counts() -> None:
    bins = Bins("words", (2, 5))
    examples = [example(6, 1), example(1, 2), example(5), example(9)]
    assert bins.lengths(examples) == [6, 2, 5, 9]
    assert bins.cut(examples) == {0: [1], 1: [0, 2, 3]}  # the last bin has all that are longer


def test_operators_are_counted_where_there_are_some() -> None:
    bins = Bins("operators", (1, 2), operators=Logic.operator_words)
    sides = ("( not a )", "( a ( and ( not b ) ) )")
    pair = Example(tuple(Sentence(tuple(side.split())) for side in sides), "#")
    assert bins.lengths([pair]) == [2]
    assert Bins.of(Logic(Path("nowhere")), Corpus("nli", {"7": [pair]})).unit == "operators"
    with pytest.raises(ValueError, match="the source subj has no operators; expected words"):
        Bins.of(SOURCE, corpus(4), unit="operators")


def test_where_bins_end() -> None:
    few = Bins.of(SOURCE, corpus(4, 7, 4))
    assert (few.ends, few.training) == ((4, 7), (3, 9))
    assert Bins.of(SOURCE, corpus(*range(1, 61))).ends == (10, 20, 30, 40, 50, 60)
    assert Bins.of(SOURCE, corpus(*[1] * 50, *range(2, 52))).ends == (1, 17, 34, 51)
    assert Bins.of(SOURCE, corpus(4, 7), ends=(3, 5)).ends == (3, 5)
    long = ListOps(max_length=8, max_depth=6, test_lengths=(12, 20), test_per_length=2)
    assert Bins.of(long, corpus(4)).ends == (8, 12, 20)
    assert Bins.of(long, corpus(4), splits=["train"]).ends == (8, 12, 20)
    assert Bins.of(SOURCE, corpus(4), splits=["train"]).ends == (3, 9)
    assert Bins.of(SOURCE, Corpus("classify", {"train": [example(3)]})).ends == (0,)
    with pytest.raises(ValueError, match="expected increasing lengths, got 5 5"):
        Bins.of(SOURCE, corpus(4), ends=(5, 5))


def test_bins_add_up_to_the_whole(make_config: Callable[..., RunConfig]) -> None:
    config = make_config()
    data, model, splits = prepare(config)
    plain = evaluate(model, Batches(splits["test"], 5))
    bins = Bins("words", (5, 7), (4, 8))
    by_length = ByLength(model, bins)
    cut = evaluate(model, Batches(splits["test"], 5), by_length=by_length)
    for name in ("histogram", "confusion"):
        assert cut.pop(name) == plain.pop(name)
    assert cut == pytest.approx(plain)
    told = by_length.to_json()
    assert json.loads(json.dumps(told)) == told
    assert (told["unit"], told["training"]) == ("words", [4, 8])
    assert sum(values["examples"] for values in told["bins"]) == 12
    right = sum(values["examples"] * values["accuracy"] for values in told["bins"])
    assert right / 12 == pytest.approx(plain["accuracy"])
    for values, (low, high) in zip(told["bins"], ((1, 5), (6, 100)), strict=True):
        assert low <= values["from"] <= values["mean"] <= values["to"] <= high
        rows = [e for e in data.splits["test"] if low <= len(e.sentences[0].words) <= high]
        alone = evaluate(model, Batches(model.encode(rows), 5))
        for name in ("loss", "accuracy", "attachment_without_brackets"):
            assert values[name] == pytest.approx(alone[name])


def test_a_run_tells_of_its_tests_by_length(
    make_config: Callable[..., RunConfig], tmp_path: Path
) -> None:
    config = make_config(max_epochs=1)
    source = replace(config.source, test_lengths=(12, 60), test_per_length=3, max_depth=6)
    result = train(replace(config, source=source), tmp_path / "run", progress=Progress())
    assert list(result["tests"]) == ["test", "9-12", "13-60"]
    told = result["by_length"]
    assert [values["examples"] for values in told["bins"]] == [12, 3, 3]
    for values, name in zip(told["bins"], result["tests"], strict=True):
        assert values["accuracy"] == pytest.approx(result["tests"][name]["accuracy"])
    assert told["training"][1] <= 8
