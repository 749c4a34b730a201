"""Options of runs by name, to start from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sparsewood.lab.data.listops import CLOSE, DIGITS
from sparsewood.lab.data.logic import BRACKETS, LETTERS
from sparsewood.lab.data.sources import SOURCES, Source
from sparsewood.lab.run.config import RunConfig, TrainingConfig
from sparsewood.lab.tasks.build import TASKS
from sparsewood.lab.tasks.model_config import ModelConfig


@dataclass(frozen=True)
class Preset:
    """Options that other values take the place of where they are given.

    Attributes:
        about: what it is, in a line of help.
        sources: the names of those it is for.
        source, model, training: its options; all others are as the source and its task have them.
            Options that the models of a task do not have say nothing of these.
    """

    about: str
    sources: tuple[str, ...]
    source: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)


PRESETS = {
    # DyNet clips the norm of the gradient at 5. The paper tunes the learning rate on a grid.
    "paper": Preset(
        "SGD on summed losses, as Niculae et al. (2018)",
        tuple(name for name, s in SOURCES.items() if issubclass(TASKS[s.task].config, ModelConfig)),
        model={"hidden": 300, "dropout": 0.0, "loss": "expected", "objective": "cosine"},
        training={
            "optimizer": "sgd",
            "lr": 0.1,
            "batch": 16,
            "reduction": "sum",
            "shuffle": "batches",
            "clip": 5.0,
        },
    ),
    "paulus": Preset(
        "the list operations of Paulus et al. (2020)",
        ("listops",),
        source={
            "train": 80_000,
            "validation": 8_000,
            "test": 8_000,
            "operators": ("MIN", "MAX", "MED"),
            "depths": (2, 3, 4, 5),
            "depth_1_share": 0.25,
            "min_length": 10,
            "max_length": 49,
        },
        model={
            "estimator": "sparsemap:max_active=5",
            "hidden": 128,
            "embedding": 128,
            "dropout": 0.0,
            "composer_input": "words",
            "own_embeddings": True,
            "noise": 1.0,
            "projective": True,
            "known_root": 1,
            "leaves": (CLOSE, *DIGITS),
        },
        training={
            "lr": 0.002,
            "parser_lr": 0.0003,
            "batch": 64,
            "eval_batch": 256,
            "max_epochs": 6,
            "patience": None,
            "decay": 1.0,
            "linear": True,
            "clip": 5.0,
            "temperatures": False,
        },
    ),
    "logic": Preset(
        "logical inference",
        ("logic",),
        model={
            "estimator": "sparsemap:max_active=5",
            "scorer": "between",
            "hidden": 128,
            "embedding": 128,
            "dropout": 0.1,
            "composer": "ordered",
            "composer_input": "words",
            "own_embeddings": True,
            "projective": True,
            "leaves": (*BRACKETS, *LETTERS),
        },
        training={
            "lr": 0.001,
            "batch": 512,
            "eval_batch": 512,
            "average": 0.999,
            "max_epochs": 40,
            "patience": None,
            "decay": 1.0,
            "linear": True,
            "clip": 5.0,
            "temperatures": False,
        },
    ),
    # 100,000 training expressions, a quarter of them of depth 1.
    "sums": Preset(
        "all four operators",
        ("listops",),
        source={
            "train": 75_000,
            "validation": 2_000,
            "test": 2_000,
            "max_depth": 6,
            "depth_1_share": 1 / 3,
            "operator_probability": 0.4,
            "max_length": 50,
        },
        model={
            "estimator": "given",
            "hidden": 64,
            "embedding": 64,
            "dropout": 0.0,
            "composer": "ordered",
            "composer_input": "words",
            "own_embeddings": True,
        },
        training={
            "lr": 0.002,
            "batch": 64,
            "short_first": (4, 5, 6, 7, 12, 20),
            "eval_batch": 256,
            "max_epochs": 4,
            "patience": None,
            "decay": 1.0,
            "linear": True,
            "clip": 5.0,
            "temperatures": False,
        },
    ),
}


def find_preset(name: str | None, source: type[Source]) -> Preset:
    """The preset of this name, that without options if it is None.

    Raises:
        ValueError: listing those there are for the source, if it is not one of them.
    """
    fitting = [known for known, preset in PRESETS.items() if source.name in preset.sources]
    if name is None:
        return Preset("", (source.name,))
    if name not in fitting:
        listed = f"expected one of {', '.join(fitting)}" if fitting else "there is none"
        raise ValueError(f"preset {name!r}: {listed} for {source.name}")
    known = {option.name for option in fields(TASKS[source.task].config)}
    found = PRESETS[name]
    return replace(found, model={k: v for k, v in found.model.items() if k in known})


def preset(name: str, source: type[Source], **options: Any) -> RunConfig:
    """The configuration of a preset, but for `options` of source, model or training.

    Raises:
        ValueError: on a preset or an option that there is not.
    """
    found = find_preset(name, source)
    kind = TASKS[source.task].config

    def taken(owner: type, given: Mapping[str, Any]) -> dict[str, Any]:
        names = [f.name for f in fields(owner)]
        return {**given, **{name: options.pop(name) for name in names if name in options}}

    of_source, of_model = taken(source, found.source), taken(kind, found.model)
    of_training = taken(TrainingConfig, found.training)
    if options:
        raise ValueError(f"no option {', '.join(options)} of source, model or training")
    training = TrainingConfig.default(source, **of_training)
    model = TASKS[source.task].default_options(**of_model)
    return RunConfig(source(**of_source), model, training)
