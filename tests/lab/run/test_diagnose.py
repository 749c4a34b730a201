"""What goes wrong in training: three traps of latent trees, and stages given up."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sparsewood as sp
from sparsewood.lab.run import TrainingConfig, train
from sparsewood.lab.run.diagnose import collapse, given_up

LATENT = sp.SparseMAP(max_active=5)


def history(*epochs: dict[str, float]) -> list[dict[str, Any]]:
    usual = {"single": 20.0, "flat": 5.0, "chain": 40.0}
    return [
        {"epoch": epoch, "validation": {**usual, **told}} for epoch, told in enumerate(epochs, 1)
    ]


def test_one_tree_from_the_start() -> None:
    told = collapse(history({"single": 99.6}), LATENT)
    assert told == (
        "after epoch 1, 100 % of the sentences have one tree: the parser has collapsed; "
        "try --noise 1, a lower --parser-lr or a higher temperature"
    )


def test_trees_that_narrow_down_later_have_been_learnt() -> None:
    assert collapse(history({"single": 88.3}, {"single": 99.3}, {"single": 100.0}), LATENT) is None


def test_short_sentences_tell_nothing() -> None:
    records = history({"single": 100.0}, {"chain": 100.0})
    for record in records:
        record["stage"] = 4
    assert collapse(records, LATENT) is None


@pytest.mark.parametrize(
    "estimator",
    [sp.SparseMAP(max_active=1), sp.TopK(1), sp.MAP(), sp.StraightThrough(), sp.Gibbs()],
    ids=repr,
)
def test_one_tree_that_is_wanted(estimator: sp.Estimator) -> None:
    assert collapse(history({"single": 100.0}), estimator) is None


@pytest.mark.parametrize(
    ("trap", "said"),
    [
        ({"chain": 96.0}, "after epoch 3, 96 % of the arcs are those of a chain; try "),
        ({"flat": 99.2}, "after epoch 3, 99 % of the probability is on flat trees; try "),
    ],
)
def test_the_chain_and_flat_trees(trap: dict[str, float], said: str) -> None:
    told = collapse(history({}, {}, trap), LATENT)
    assert told is not None
    assert told.startswith(said)
    assert "\n" not in told
    assert collapse(history(trap), LATENT) is None  # one epoch says little
    assert collapse(history({}, {name: v - 5 for name, v in trap.items()}), LATENT) is None


def test_it_is_told_once() -> None:
    assert collapse(history({}, {"chain": 96.0}, {"chain": 99.0}), LATENT) is None
    assert collapse(history({"single": 100.0}, {"chain": 99.0}), LATENT) is None


def test_fixed_trees_and_older_runs() -> None:
    assert collapse(history({"single": 100.0}, {"flat": 100.0}), sp.Fixed("flat")) is None
    old = history({}, {}, {})
    for record in old:
        del record["validation"]["chain"]
    assert collapse(old, LATENT) is None


def test_a_run_says_it_once(make_config, recording, tmp_path: Path) -> None:
    cold = make_config("sparsemap:temperature=0.001", max_epochs=3, temperatures=False)
    recorder = recording()
    train(replace(cold), tmp_path / "cold", progress=recorder)
    told = [note for note in recorder.notes if "collapsed" in note]
    assert len(told) == 1
    assert told[0].startswith("after epoch 1, ")
    healthy = recording()
    train(make_config(max_epochs=3, temperatures=False), tmp_path / "warm", progress=healthy)
    assert not any("try --noise" in note for note in healthy.notes)


CONFIG = TrainingConfig(short_first=(4, 6), stage_accuracy=90.0, stage_epochs=3)


def _staged(*epochs: tuple[int | None, float]) -> list[dict[str, Any]]:
    return [
        {"epoch": i, **({"stage": words} if words else {}), "train": {"accuracy": accuracy}}
        for i, (words, accuracy) in enumerate(epochs, 1)
    ]


def test_a_stage_that_is_given_up_is_told() -> None:
    assert given_up(_staged((4, 1), (4, 2), (4, 33)), CONFIG) == (
        "after epoch 3, the stage of sentences of at most 4 words ended at 33.00 % in training, "
        "below 90 %: 3 epochs are over"
    )
    for told in (((4, 1), (4, 2)), ((4, 1), (4, 2), (4, 93)), ((4, 93), (6, 93), (None, 3))):
        assert given_up(_staged(*told), CONFIG) is None
    assert given_up([{"epoch": 1, "train": {"loss": 1.0}}], TrainingConfig()) is None
