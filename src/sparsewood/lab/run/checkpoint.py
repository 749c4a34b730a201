"""Checkpoints: the weights and everything else needed to resume bit for bit.

`checkpoints/0003` is the state after epoch 3, `checkpoints/0003-000120` that after 120 more steps.
Weights that training does not change (given word vectors, a pretrained encoder) are left out: they
are loaded again from their source, and `fingerprint` checks that they are the same.
"""

import io
import json
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as pack
from torch import nn

from sparsewood.lab._files import PARTIAL, new_folder, write_text
from sparsewood.lab.run.reproducibility import fixed
from sparsewood.lab.run.schedule import ordinary
from sparsewood.lab.run.state import TrainingState

_NAME = re.compile(r"(\d+)(?:-(\d+))?")
_WEIGHTS, _AVERAGE, _STATE = "model.safetensors", "average.safetensors", "state.pt"
_ENTRIES = (
    *("epoch", "step", "seconds", "history", "schedule", "optimizer", "scaler"),
    *("fingerprint", "processes"),
)


class Damaged(ValueError):  # noqa: N818 (describes the checkpoint)
    """A checkpoint that cannot be read or is not of this run."""


def save(state: TrainingState, snapshot: Mapping[str, Any] | None = None) -> None:
    """Write a checkpoint and `metrics.jsonl`; all processes call this, the first one writes.

    Args:
        state: state of the run.
        snapshot: a snapshot taken earlier with the same weights. Default: one taken now.

    Raises:
        OSError: if the folder cannot be written to, with the last valid checkpoint.
    """
    taken = state.snapshot() if snapshot is None else snapshot
    path = state.folder / "checkpoints" / name_of(taken["epoch"], taken["step"])

    def write() -> None:
        with writing(state.folder):
            write_checkpoint(path, state.model, taken, state.average)
            _tidy(state, path.name)

    state.group.on_first(write)
    state.saved = time.monotonic()


def restore(state: TrainingState, note: Callable[[str], None] = lambda _: None) -> bool:
    """Restore the last checkpoint; returns whether there is one.

    If a checkpoint is damaged, `note` is called and the previous one is restored.

    Raises:
        ValueError: if data, word vectors or the number of processes have changed, or all
            checkpoints are damaged.
    """
    found = checkpoints(state.folder / "checkpoints")
    damage: list[str] = []
    for path in found:
        try:
            _restore_from(path, state)
        except Damaged as error:
            damage.append(str(error))
            continue
        for text in damage:
            note(f"{text}: going back to {path.name}")
        if state.group.first:  # in case the process was killed before this
            _tidy(state, path.name)
        return True
    if found:
        raise ValueError(f"{damage[0]}; no checkpoint of {state.folder} is whole")
    return False


def _restore_from(path: Path, state: TrainingState) -> None:
    snapshot = read_snapshot(path, _ENTRIES)
    if snapshot["fingerprint"] != state.fingerprint:
        raise ValueError(
            f"{state.folder}: the data, word vectors or pretrained encoder have changed since the "
            "run began"
        )
    load_weights(path, state.model)
    if state.average is not None:
        load_weights(path, state.average, average=True)
    try:
        state.restore(snapshot)
        processes = len(snapshot["processes"])
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise Damaged(f"{path}: not a checkpoint of this run ({error})") from error
    if processes != state.group.size:
        raise ValueError(f"{state.folder}: a run of {processes} processes, not {state.group.size}")


def load_best(state: TrainingState) -> None:
    """Load the weights and the annealed values of the best epoch into the evaluated model."""
    best = state.schedule.best_epoch
    path = state.folder / "checkpoints" / name_of(best)
    load_weights(path, state.evaluated, average=state.average is not None)
    state.anneal(ordinary(state.history[: best - 1]))
    state.give_rounding(state.history[best - 1].get("rounding", 0.0))


def close(state: TrainingState) -> None:
    """Remove all checkpoints except the last and the best, at the end of training."""
    last, best = map(name_of, (state.epoch, state.schedule.best_epoch))
    prune(state.folder / "checkpoints", [last, best])


def _tidy(state: TrainingState, last: str) -> None:
    """Keep the checkpoint `last`, the one before it and the best, and write the metrics."""
    names = [path.name for path in checkpoints(state.folder / "checkpoints")]
    best = name_of(state.schedule.best_epoch)
    after = names.index(last) + 1
    prune(state.folder / "checkpoints", [last, best, *names[after : after + 1]])
    lines = [json.dumps(record) + "\n" for record in state.history]
    write_text(state.folder / "metrics.jsonl", "".join(lines))


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Add the last valid checkpoint to errors of writing files of a run."""
    try:
        yield
    except OSError as error:
        kept = latest(folder / "checkpoints")
        safe = f"the last whole checkpoint is {kept}" if kept else "there is no checkpoint yet"
        raise OSError(
            f"{folder}: cannot be written to ({error.strerror or error}); {safe}, from "
            "which --resume goes on"
        ) from error


def name_of(epoch: int, step: int = 0) -> str:
    """The name of the checkpoint after `epoch` epochs and `step` steps of the next."""
    return f"{epoch:04d}" + (f"-{step:06d}" if step else "")


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in `folder`, the latest first."""
    found = [(_NAME.fullmatch(p.name), p) for p in folder.glob("*") if _is_checkpoint(p)]
    places = [((int(m[1]), int(m[2] or 0)), path) for m, path in found if m]
    return [path for _, path in sorted(places, reverse=True)]


def latest(folder: Path) -> Path | None:
    """The latest checkpoint in `folder`."""
    return next(iter(checkpoints(folder)), None)


def write_checkpoint(
    path: Path, model: nn.Module, state: Mapping[str, Any], average: nn.Module | None = None
) -> None:
    """Write the checkpoint `path`, in full or not at all: weights, state, and averaged weights.

    An existing checkpoint of that name is kept: resuming before it leads to the same state.
    """
    if _is_checkpoint(path):
        return
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ValueError(f"{path}: expected a checkpoint or nothing, found something else; move it")
    packed = io.BytesIO()
    torch.save(dict(state), packed)
    # Written by Python, whose errors name the file and the reason, such as a full disk.
    with new_folder(path) as partial:
        (partial / _WEIGHTS).write_bytes(_weights(model))
        if average is not None:
            (partial / _AVERAGE).write_bytes(_weights(average))
        (partial / _STATE).write_bytes(packed.getbuffer())


def _weights(model: nn.Module) -> bytes:
    left_out = fixed(model)
    return pack({k: v.contiguous() for k, v in model.state_dict().items() if k not in left_out})


def read_snapshot(path: Path, entries: Iterable[str] = ()) -> dict[str, Any]:
    """The state in the checkpoint `path`, without the weights; checked to have these entries."""
    try:
        state = torch.load(path / _STATE, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file fails in many ways
        raise Damaged(f"{path}: not a readable checkpoint ({_brief(error)})") from error
    if not isinstance(state, dict) or not set(entries) <= state.keys():
        raise Damaged(f"{path}: not a checkpoint of a run ({_STATE} holds something else)")
    return state


def load_weights(path: Path, model: nn.Module, *, average: bool = False) -> None:
    """Load the weights of the checkpoint `path`, or their average, into `model`."""
    try:
        weights = load_file(path / (_AVERAGE if average else _WEIGHTS))
        missing, unexpected = model.load_state_dict(weights, strict=False)
    except (OSError, RuntimeError, SafetensorError) as error:
        raise Damaged(f"{path}: not a readable checkpoint ({_brief(error)})") from error
    wrong = [*(set(missing) - fixed(model)), *unexpected]
    if wrong:
        raise Damaged(f"{path}: not a checkpoint of this model ({', '.join(sorted(wrong))})")


def _brief(error: Exception) -> str:
    """The first sentence of an error, on one line."""
    return " ".join(str(error).partition(". ")[0].split()) or type(error).__name__


def prune(folder: Path, keep: Iterable[str]) -> None:
    """Remove all checkpoints except those named in `keep`, and all unfinished ones.

    Folders of such a name with other files, and links, are kept: they are not of the run.
    """
    kept = set(keep)
    for path in sorted(folder.glob("*"), reverse=True):  # partial folders come first
        name = path.name.removesuffix(PARTIAL)
        if path.name not in kept and _NAME.fullmatch(name) and _is_checkpoint(path):
            doomed = path.with_name(name + PARTIAL)  # marks what is left if the process is killed
            path.rename(doomed)
            shutil.rmtree(doomed)


def _is_checkpoint(path: Path) -> bool:
    """Whether `path` is a folder, not a link, with only the files of a checkpoint.

    An unfinished one may be empty.
    """
    if path.is_symlink() or not path.is_dir():
        return False
    files = list(path.iterdir())
    ours = all(f.name in (_WEIGHTS, _AVERAGE, _STATE) and not f.is_symlink() for f in files)
    return ours and (bool(files) or path.suffix == PARTIAL)
