"""Configurations: JSON both ways, strict about names and kinds."""

import json
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from sparsewood.lab.tasks import ModelConfig
from sparsewood.lab.train import RunConfig, TrainingConfig
from sparsewood.lab.train.config import differences

RESULTS = Path(__file__).parents[3] / "results"


def test_json_both_ways(make_config) -> None:
    config = make_config("given", clip=1.0, optimizer="adam", reduction="sum", threads=None)
    text = json.dumps({"sparsewood": "1", **config.to_json()})
    assert RunConfig.from_json(json.loads(text)) == config


def test_the_defaults_are_what_was_published() -> None:
    """That of most runs in results/, but for what a table varies and the machine."""
    runs = [json.loads(path.read_text()) for path in RESULTS.glob("*/*/*/*/config.json")]
    assert len(runs) > 50
    for part, config in (("model", ModelConfig()), ("training", TrainingConfig())):
        for name, value in asdict(config).items():
            found = Counter(str(run[part].get(name, value)) for run in runs)
            if name not in ("estimator", "seed", "device", "threads"):
                assert found.most_common(1)[0][0] == str(value), name


@pytest.mark.parametrize(
    ("part", "entry", "message"),
    [
        ("training", {"learning_rate": 1}, "training: unknown learning_rate; expected optimizer"),
        ("training", {"lr": "high"}, "training.lr: expected float, got 'high'"),
        ("model", {"depth": 3}, "model: unknown depth"),
        ("model", {"estimator": "oak"}, "estimator: expected one of sparsemap, "),
        ("source", {"colour": 1}, "colour"),
    ],
)
def test_wrong_entries_are_named(make_config, part: str, entry: dict, message: str) -> None:
    data = make_config().to_json()
    data[part] |= entry
    with pytest.raises(ValueError, match=message):
        RunConfig.from_json(data)


def test_missing_and_unknown_parts(make_config) -> None:
    data = make_config().to_json()
    with pytest.raises(ValueError, match="unknown sauce"):
        RunConfig.from_json(data | {"sauce": {}})
    del data["model"]
    with pytest.raises(ValueError, match="lacks model"):
        RunConfig.from_json(data)


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch": 0},
        {"lr": 0.0},
        {"lr": float("nan")},
        {"decay": 1.5},
        {"beta2": 1.0},
        {"batch_words": 0},
        {"warm_up": -1},
        {"patience": 0},
        {"clip": 0.0},
        {"threads": 0},
        {"seed": -1},
        {"checkpoint_minutes": 0.0},
    ],
)
def test_values_out_of_range(wrong: dict) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"training.{name}: expected"):
        TrainingConfig(**wrong)


def test_differences(make_config) -> None:
    old = make_config()
    new = replace(old, training=replace(old.training, lr=2.0), model=replace(old.model, hidden=4))
    assert differences(old, old) == []
    assert differences(old, new) == ["model.hidden: 8 -> 4", "training.lr: 0.5 -> 2.0"]
