"""Runs that were copied from another machine: their data may be elsewhere, but not others."""

from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from sparsewood.lab.run.checkpoint import Damaged, latest, read_snapshot
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.prepare import prepare
from sparsewood.lab.run.reproducibility import fingerprint

_DATA = ("data", "files", "train", "validation", "test", "heads")  # options of sources, if paths
_NAMED = ("vectors", "parser")
# How a run is executed, which may differ between machines.
_MACHINE = ("device", "threads", "tensorboard", "checkpoint_minutes", "encoder_cache")


def as_if_here(old: RunConfig, new: RunConfig) -> RunConfig:
    """`old` with what may differ between machines as in `new`.

    That is how the run is executed, and the paths of data, word vectors and encoder. A file of
    vectors and a folder of an encoder must keep their names; of the others `restore` or
    `same_inputs` check the content.
    """
    machine = {name: getattr(new.training, name) for name in _MACHINE}
    old = replace(old, training=replace(old.training, **machine))
    if type(old.source) is not type(new.source):
        return old
    places: dict[str, Any] = {}
    for name, value in vars(new.source).items():
        mine = getattr(old.source, name)
        fits = _moved if name in _DATA else _same_name if name in _NAMED else None
        if fits is not None and fits(mine, value):
            places[name] = value
    old = replace(old, source=replace(old.source, **places))
    mine, theirs = old.model.encoder, new.model.encoder
    return (
        replace(old, model=replace(old.model, encoder=theirs)) if _same_name(mine, theirs) else old
    )


def is_elsewhere(old: RunConfig, new: RunConfig) -> bool:
    """Whether the paths of data, word vectors or encoder differ."""
    return (old.source, old.model.encoder) != (new.source, new.model.encoder)


def same_inputs(config: RunConfig, folder: Path) -> bool:
    """Whether a run began with the data and fixed weights that `config` names.

    This reads the data, and compares their hash with that in the last checkpoint.
    """
    path = latest(folder / "checkpoints")
    if path is None:
        return False
    try:
        known = read_snapshot(path, ["fingerprint"])["fingerprint"]
    except Damaged:
        return False
    _, model, splits = prepare(config)
    return fingerprint(model, splits.values()) == known


def _moved(old: Any, new: Any) -> bool:
    """Whether two values of an option name the same number of files or folders."""
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(map(_moved, old, new))
    return isinstance(old, str | Path) and isinstance(new, str | Path)


def _same_name(old: str | None, new: str | None) -> bool:
    """Whether two paths end in the same name."""
    return old is not None and new is not None and PurePath(old).name == PurePath(new).name
