"""Presets: named sets of options."""

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
    """Options that replace defaults; explicit options replace those of the preset.

    Attributes:
        about: description in the help.
        sources: names of the sources it applies to.
        source, model, training: its options; all others have the defaults of the source and its
            task. Options that the model of a task does not have are ignored.
    """

    about: str
    sources: tuple[str, ...]
    source: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)


# Trees that hold on inputs longer than those trained on: the arc scorer reads words and what lies
# between them, never the sentence; the composer reads words in their order.
_ANY_LENGTH = {
    "estimator": "sparsemap:max_active=5",
    "scorer": "between",
    # Small: with Adam, the larger an embedding the faster the scores of its arcs move, and a parser
    # that moves too fast settles on other trees.
    "embedding": 48,
    "dropout": 0.0,
    "composer": "ordered",
    "composer_input": "words",
    "own_embeddings": True,
    "noise": 1.0,
    "projective": True,
}


def _settling(epochs: int) -> dict[str, Any]:
    """Options of training by which rates and noise fall to nothing in so many epochs."""
    return {
        "lr": 0.001,
        "parser_lr": 0.002,
        "anneal": ("noise=1:0",),
        "anneal_epochs": epochs,
        "average": 0.999,
        "max_epochs": epochs,
        "patience": None,
        "decay": 1.0,
        "linear": True,
        "clip": 5.0,
        "temperatures": False,
    }


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
        model={**_ANY_LENGTH, "hidden": 256, "known_root": 1, "leaves": (CLOSE, *DIGITS)},
        training={**_settling(10), "batch": 128, "eval_batch": 256},
    ),
    "logic": Preset(
        "logical inference",
        ("logic",),
        model={
            **_ANY_LENGTH,
            "hidden": 256,
            "single_root": True,
            "leaves": (*BRACKETS, *LETTERS),
        },
        training={**_settling(40), "weight_decay": 0.1, "batch": 512, "eval_batch": 512},
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
        model={**_ANY_LENGTH, "hidden": 128, "known_root": 1, "leaves": (CLOSE, *DIGITS)},
        training={
            **_settling(10),
            "lr": 0.002,
            "parser_lr": 0.0007,
            "batch": 128,
            "short_first": (4, 5, 6, 7, 12, 20),
            "eval_batch": 256,
        },
    ),
}


def find_preset(name: str | None, source: type[Source]) -> Preset:
    """The preset with this name; for None, one without options.

    Raises:
        ValueError: if the source has no such preset, with a list of those it has.
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
    """The configuration of a preset, with `options` of source, model or training replaced.

    Raises:
        ValueError: on an unknown preset or option.
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
