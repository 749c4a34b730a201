"""Shared by several commands: sources, run folders, models, interruption."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from itertools import count, pairwise
from pathlib import Path
from typing import Annotated, Any

from sparsewood.lab.cli import Interrupted, unknown
from sparsewood.lab.cli._options import Group
from sparsewood.lab.cli._watch import Watch
from sparsewood.lab.data.sources import SOURCES, Source
from sparsewood.lab.jobs.pool import Place
from sparsewood.lab.run import Progress, RunConfig, TrainingConfig, TrainingInterrupted
from sparsewood.lab.run.presets import PRESETS, find_preset
from sparsewood.lab.study.rows import short
from sparsewood.lab.tasks import TASKS, Model, load_model
from sparsewood.lab.tasks.build import model_folder

RUNS = Path("runs")

_COMMON_SOURCE = (
    *("data", "files", "train", "validation", "test", "label", "text", "text2", "target"),
    *("fine", "phrases", "max_depth", "max_length", "test_lengths", "max_operators"),
    *("heads", "parser", "vectors"),
)
_ENCODER = ("encoder", "tune_encoder", "encoder_precision", "encoder_lr", "encoder_cache")
_COMMON_MODEL = (*_ENCODER[:2], "scorer", "attention", "hidden", "layers", "dropout")
_COMMON_TRAINING = ("lr", "batch", "max_epochs", "patience", "seed", "device", "threads")
_TOGETHER: dict[str, str] = dict.fromkeys(_ENCODER, "encoder")


def example(command: str, source: str, more: str) -> str:
    """An example of a command line."""
    return f"sparsewood {command} {source} {SOURCES[source].example} {more}"


def pick_source(
    command: str,
    args: list[str],
    description: str,
    more: str,
    sources: Mapping[str, type[Source]] = SOURCES,
) -> type[Source]:
    """The source that the first argument names; removes it from `args`."""
    if args and not args[0].startswith("-"):
        name = args.pop(0)
        if name not in sources:
            raise ValueError(unknown("source", name, list(sources)))
        return sources[name]
    if not {"-h", "--help", "--help-all"} & set(args):
        raise ValueError(
            f"{command}: which source? One of {', '.join(sources)} (sparsewood {command} --help)"
        )
    width = max(map(len, sources))
    lines = [f"  {name:{width}}  {about(source)}" for name, source in sources.items()]
    print(
        f"usage: sparsewood {command} SOURCE [OPTIONS]\n\n{description}\n\nSources:\n"
        + "\n".join(lines)
        + f"\n\nExample: {example(command, 'sst', more)}\n\n"
        f"sparsewood {command} SOURCE --help lists the options."
    )
    raise SystemExit(0)


def about(source: type[Source]) -> str:
    """The first line of a source's description."""
    return (source.__doc__ or "").strip().partition("\n")[0].rstrip(".")


def source_group(source: type[Source], **defaults: object) -> Group:
    """The options of a source."""
    return Group("source", source, _COMMON_SOURCE, dict(defaults), source.unused)


@dataclass(frozen=True, kw_only=True)
class Protocol:
    __doc__ = f"""The option that sets the defaults of source, model and training.

    Attributes:
        preset: set of options that replaces the defaults.
            {"; ".join(f"{name}: {found.about}" for name, found in PRESETS.items())}.
    """

    preset: Annotated[str | None, "|".join(PRESETS)] = None


@dataclass(frozen=True, kw_only=True)
class Workers:
    """The option for the number of runs that train at the same time.

    Attributes:
        workers: number of runs that train in parallel. Default: 1; with --on ray, as many as fit.
    """

    workers: int | None = None

    def __post_init__(self) -> None:
        at_least(1, workers=self.workers)


def place_group() -> Group:
    """The options for where the runs of a command are executed."""
    return Group("place", Place, ("on",))


def watched(
    folder: Path, config: RunConfig, workers: int | None, place: Place, runs: str = "*/*/*"
) -> AbstractContextManager[Progress | None]:
    """Show the progress of `runs` below `folder`, unless they train in this process one by one."""
    if place.here and workers in (None, 1):
        return nullcontext()
    return Watch(folder, TASKS[config.source.task].metrics.criterion, runs)


def starting_point(
    source: type[Source], args: Sequence[str]
) -> tuple[dict[str, Any], Any, TrainingConfig]:
    """The defaults of source, model and training: those of the preset in `args`."""
    given = [
        b if a == "--preset" else a.partition("=")[2]
        for a, b in pairwise([*args, ""])
        if a.partition("=")[0] == "--preset"
    ]
    found = find_preset(given[-1] if given else None, source)
    model = TASKS[source.task].default_options(**found.model)
    return dict(found.source), model, TrainingConfig.default(source, **found.training)


def config_groups(
    source: type[Source],
    args: Sequence[str],
    *,
    rare: Sequence[str] = (),
    without: tuple[str, ...] = (),
) -> list[Group]:
    """The options of source, model and training, except those in `without`.

    Only --help-all shows those in `rare`. The defaults are those of the `starting_point`.
    """
    of_source, model, training = starting_point(source, args)
    varies = TASKS[source.task].varies
    groups = [
        source_group(source, **of_source),
        Group("model", type(model), (varies, *_COMMON_MODEL), asdict(model), together=_TOGETHER),
        Group("training", TrainingConfig, _COMMON_TRAINING, asdict(training), together=_TOGETHER),
    ]
    return [
        replace(
            g,
            common=tuple(n for n in g.common or () if n not in rare),
            without=(*g.without, *without),
        )
        for g in groups
    ]


def new_folder(config: RunConfig) -> Path:
    """runs/SOURCE-VARIANT-N, with the first unused N."""
    variant = short(getattr(config.model, TASKS[config.source.task].varies))
    stem = f"{config.source.name}-{variant}"
    return next(path for n in count(1) if not (path := RUNS / f"{stem}-{n}").exists())


def writable_folder(path: Path) -> Path:
    """`path`; raises ValueError if it is a file."""
    for place in (path, *path.parents):
        if place.exists() and not place.is_dir():
            raise ValueError(f"{place}: is a file; expected a folder or the name of a new one")
    return path


def writable_file(path: Path) -> Path:
    """`path`; raises ValueError if no file can be written there."""
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; expected the name of a file")
    if path.exists() and not path.is_file():
        raise ValueError(f"{path}: is not a regular file; expected the name of one")
    writable_folder(path.parent)
    nearest = next(place for place in (path.parent, *path.parent.parents) if place.exists())
    if not os.access(nearest, os.W_OK):
        raise ValueError(f"{path}: cannot be written (no permission in {nearest})")
    return path


def at_least(least: int, **options: int | None) -> None:
    """Raise ValueError if an option is less than `least`."""
    for name, value in options.items():
        if value is not None and value < least:
            raise ValueError(f"--{name.replace('_', '-')}: expected at least {least}, got {value}")


def open_model(path: Path) -> Model:
    """The model of a run, or the one in a folder that `save_pretrained` wrote.

    Raises:
        ValueError: if there is none.
    """
    return load_model(model_folder(path))


def set_temperature(model: Model, temperature: float | None) -> None:
    """Set the temperature of the model's trees, unless it is None.

    Raises:
        ValueError: if it is not positive, or the model's estimator has no temperature.
    """
    if temperature is None:
        return
    if not 0 < temperature < float("inf"):
        raise ValueError(f"--temperature: expected a positive number, got {temperature:g}")
    if model.temperature is None:
        variant = TASKS[model.task].variant(model.options)
        raise ValueError(f"--temperature: the {variant} of this model has no temperature")
    model.temperature = temperature


def is_run(path: Path) -> bool:
    """Whether `path` is the folder of a run, rather than of a model."""
    return (path / "config.json").is_file() and not (path / "model.safetensors").exists()


def runs_below(path: Path) -> list[Path]:
    """The run at `path`, or all runs below it, for example those of a table."""
    if not path.is_dir():
        raise ValueError(f"{path}: no such folder of runs")
    if is_run(path):
        return [path]
    found = [file.parent for file in sorted(path.rglob("config.json")) if is_run(file.parent)]
    if not found:
        raise ValueError(f"{path}: no run in this folder (no config.json)")
    return found


@contextmanager
def interruptible(how_to_go_on: str = "") -> Iterator[None]:
    """Turn an interrupted training into `Interrupted`, with a message on how to resume."""
    try:
        yield
    except TrainingInterrupted as stop:
        raise Interrupted(f"{stop}{how_to_go_on and f'; to go on: {how_to_go_on}'}") from None
