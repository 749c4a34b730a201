"""Configurations: JSON both ways, strict about names and kinds."""

import json
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from sparsewood.lab.run import RunConfig, TrainingConfig
from sparsewood.lab.run.config import ENCODER_LR, ENCODER_WARM_UP, differences
from sparsewood.lab.tasks import ModelConfig, ParserConfig

RESULTS = Path(__file__).parents[3] / "results"
DEFAULT_TABLES = ("sst", "subj", "snli", "sick", "revdict")
"""Those made without a preset; the others say in their configurations what they changed."""
VARIED = ("lr",)
"""What these tables try on validation."""


def test_json_both_ways(make_config) -> None:
    told = {"anneal": ("noise=1:0",), "anneal_epochs": 2, "short_first": (4, 6)}
    config = make_config("given", clip=1.0, threads=None, **told)
    text = json.dumps({"sparsewood": "1", **config.to_json()})
    assert RunConfig.from_json(json.loads(text)) == config


@pytest.mark.skipif(not RESULTS.is_dir(), reason="source distributions come without results")
def test_the_defaults_are_what_was_published() -> None:
    """The value of most runs of the default tables; of what these vary, one of the values."""
    paths = [
        path for table in DEFAULT_TABLES for path in RESULTS.glob(f"{table}/*/*/*/config.json")
    ]
    runs = [json.loads(path.read_text()) for path in paths]
    assert len(runs) > 50
    for part, config in (("model", ModelConfig()), ("training", TrainingConfig())):
        for name, value in asdict(config).items():
            found = Counter(str(run[part].get(name, value)) for run in runs)
            published = found if name in VARIED else dict(found.most_common(1))
            if name not in ("estimator", "seed", "device", "threads"):
                assert str(value) in published, name


def test_published_reverse_dictionaries_learned_the_cosine() -> None:
    paths = list(RESULTS.glob("revdict/*/*/*/config.json"))
    assert paths
    for path in paths:
        data = json.loads(path.read_text())
        if "objective" not in data["model"]:
            assert RunConfig.from_json(data).model.objective == "cosine"


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
    with pytest.raises(ValueError, match="has no model"):
        RunConfig.from_json(data)


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch": 0},
        {"lr": 0.0},
        {"lr": float("nan")},
        {"decay": 1.5},
        {"beta2": 1.0},
        {"weight_decay": -0.1},
        {"batch_words": 0},
        {"warm_up": -1},
        {"patience": 0},
        {"clip": 0.0},
        {"threads": 0},
        {"seed": -1},
        {"checkpoint_minutes": 0.0},
        {"parser_lr": 0.0},
        {"encoder_lr": -0.1},
        {"encoder_cache": -1.0},
        {"composer_first": -1},
        {"anneal_epochs": -1},
        {"average": 1.0},
        {"short_first": (0, 4)},
        {"short_first": (6, 4)},
        {"short_first": (4, 4)},
        {"stage_accuracy": 0.0},
        {"stage_accuracy": 100.5},
        {"stage_epochs": 0},
    ],
)
def test_values_out_of_range(wrong: dict) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"training.{name}: expected"):
        TrainingConfig(**wrong)


def test_what_is_told_of_latent_trees_fits_the_model(make_config, make_parser_config) -> None:
    with pytest.raises(ValueError, match="training.anneal_epochs: expected at least 1, got 0"):
        make_config(anneal=("noise=1:0",))
    with pytest.raises(ValueError, match="training.anneal: estimator top-k: the options are k"):
        make_config("topk:k=3", anneal=("max_active=1:3",), anneal_epochs=2)
    told = {"parser_lr": 0.1, "composer_first": 1, "anneal": ("noise=1:0",)}
    make_config("flat", **told, anneal_epochs=1)  # a baseline may be told the same
    parser = make_parser_config()
    for name, value in told.items():
        training = replace(parser.training, **{name: value, "anneal_epochs": 1})
        with pytest.raises(ValueError, match=f"training.{name}: a model for parse has no latent"):
            replace(parser, training=training)


def test_what_is_told_of_encoders_fits_the_model(make_config, make_parser_config) -> None:
    config, parser = make_config(), make_parser_config()
    with pytest.raises(ValueError, match="training.encoder_lr: expected none, as no encoder is"):
        replace(config, training=replace(config.training, encoder_lr=0.1))
    with pytest.raises(ValueError, match="source.vectors: the encoder hf:oak replaces them"):
        replace(parser, model=ParserConfig(encoder="hf:oak"))
    told = replace(config.model, encoder="hf:oak", tune_encoder=True)
    source = replace(config.source, vectors="vectors.txt")
    with pytest.raises(ValueError, match="source.vectors: the encoder hf:oak replaces them"):
        replace(config, source=source, model=told)
    words = replace(told, composer_input="words")  # the composer reads them
    training = replace(config.training, encoder_lr=0.1)
    assert replace(config, source=source, model=words, training=training).model == words


def test_a_fine_tuned_encoder_has_a_rate_by_default(make_config) -> None:
    config = make_config()
    told = replace(config.model, encoder="hf:oak", tune_encoder=True)
    tuned = replace(config, model=told)
    assert tuned.training.encoder_lr == ENCODER_LR == 3e-5
    assert tuned.to_json()["training"]["encoder_lr"] == ENCODER_LR
    assert config.training.encoder_lr is None
    assert config.training.warm_up == 0
    assert replace(tuned, training=TrainingConfig()).training.warm_up == ENCODER_WARM_UP
    assert replace(tuned, training=TrainingConfig(warm_up=0)).training.warm_up == 0
    for rate in (1e-4, "lr"):
        given = replace(tuned, training=replace(tuned.training, encoder_lr=rate))
        assert RunConfig.from_json(json.loads(json.dumps(given.to_json()))) == given
    with pytest.raises(ValueError, match="encoder_lr: expected a positive number, or 'lr', got 'l"):
        TrainingConfig(encoder_lr="low")  # pyright: ignore[reportArgumentType]


def test_an_encoder_of_an_earlier_version_keeps_its_rate(make_config) -> None:
    """It was that of what reads the encoder, unless one was given."""
    config = make_config()
    told = replace(config.model, encoder="hf:oak", tune_encoder=True)
    data = replace(config, model=told).to_json()
    data["training"]["encoder_lr"] = None
    assert RunConfig.from_json(data).training.encoder_lr == "lr"


def test_stages_need_accuracy(make_config, make_parser_config) -> None:
    assert make_config(short_first=(4, 6)).training.short_first == (4, 6)
    parser = make_parser_config()
    message = r"stages end by accuracy, but the criterion of parse is .*, got \(4,\)"
    with pytest.raises(ValueError, match=message):
        replace(parser, training=replace(parser.training, short_first=(4,)))


def test_what_older_runs_do_not_say_is_as_it_was(make_config) -> None:
    data, new = (
        make_config().to_json(),
        ("parser_lr", "composer_first", "anneal", "average", "short_first"),
    )
    old = {name: v for name, v in data["training"].items() if name not in new}
    assert RunConfig.from_json(data | {"training": old}) == make_config()


def test_differences(make_config) -> None:
    old = make_config()
    new = replace(old, training=replace(old.training, lr=2.0), model=replace(old.model, hidden=4))
    assert differences(old, old) == []
    assert differences(old, new) == ["model.hidden: 8 -> 4", "training.lr: 0.5 -> 2.0"]


def test_estimators_are_written_in_full(make_config) -> None:
    for name, written in (
        ("sparsemap", "sparsemap:max_active=10"),
        ("sparsemap:max_active=none", "sparsemap:max_active=none"),
    ):
        config = make_config(name)
        data = config.to_json()
        assert data["model"]["estimator"] == written
        assert RunConfig.from_json(data) == config


def test_a_sparsemap_of_an_earlier_version_has_no_cap(make_config) -> None:
    data = make_config().to_json()
    data["model"]["estimator"] = "sparsemap"
    config = RunConfig.from_json(data)
    assert config == make_config("sparsemap:max_active=none")
    assert differences(config, make_config("sparsemap")) == [
        "model.estimator: 'sparsemap:max_active=none' -> 'sparsemap:max_active=10'"
    ]
