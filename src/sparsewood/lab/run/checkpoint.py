"""Checkpoints: the weights and all else that going on bit for bit takes.

`checkpoints/0003` is the state after epoch 3, `checkpoints/0003-000120` that after 120 more steps.
Weights that training does not change (given word vectors, a pretrained encoder) are left out: the
run makes them anew from where it had them, and `fingerprint` tells whether they are the same.
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


class Damaged(ValueError):  # noqa: N818 (what the checkpoint is)
    """A checkpoint that cannot be read, or that is not one of this run."""


def save(state: TrainingState, snapshot: Mapping[str, Any] | None = None) -> None:
    """Write a checkpoint and `metrics.jsonl`; every process takes part, the first one writes.

    Args:
        state: of the run.
        snapshot: of an earlier moment with the same weights; by default, of now.

    Raises:
        OSError: where the folder cannot be written to, naming the checkpoint that is safe.
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
    """Go back to the last checkpoint, if there is one; whether there is.

    From a checkpoint that is damaged, `note` being told, to the one before it.

    Raises:
        ValueError: if data, word vectors or the number of processes are not those of the run, or
            no checkpoint is whole.
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
        if state.group.first:  # a kill may have come before this was done
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
    """Give the evaluated model the weights of the best epoch, and what is annealed as it was."""
    best = state.schedule.best_epoch
    path = state.folder / "checkpoints" / name_of(best)
    load_weights(path, state.evaluated, average=state.average is not None)
    state.anneal(ordinary(state.history[: best - 1]))
    state.give_rounding(state.history[best - 1].get("rounding", 0.0))


def close(state: TrainingState) -> None:
    """Training is over: keep the last checkpoint and the best one."""
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
    """Within it files of a run are written; where that fails, what is safe is told."""
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
    """Those in `folder`, the one that has come furthest first."""
    found = [(_NAME.fullmatch(p.name), p) for p in folder.glob("*") if _is_checkpoint(p)]
    places = [((int(m[1]), int(m[2] or 0)), path) for m, path in found if m]
    return [path for _, path in sorted(places, reverse=True)]


def latest(folder: Path) -> Path | None:
    """The checkpoint among those in `folder` that has come furthest."""
    return next(iter(checkpoints(folder)), None)


def write_checkpoint(
    path: Path, model: nn.Module, state: Mapping[str, Any], average: nn.Module | None = None
) -> None:
    """Write the checkpoint `path`, in full or not at all: weights, state, and averaged weights.

    One of that name that is there already stays: going on from before it led to the same state.
    """
    if _is_checkpoint(path):
        return
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ValueError(f"{path}: expected a checkpoint or nothing, found something else; move it")
    packed = io.BytesIO()
    torch.save(dict(state), packed)
    # Written by Python, whose errors name the file and the reason: a full disk, say.
    with new_folder(path) as partial:
        (partial / _WEIGHTS).write_bytes(_weights(model))
        if average is not None:
            (partial / _AVERAGE).write_bytes(_weights(average))
        (partial / _STATE).write_bytes(packed.getbuffer())


def _weights(model: nn.Module) -> bytes:
    left_out = fixed(model)
    return pack({k: v.contiguous() for k, v in model.state_dict().items() if k not in left_out})


def read_snapshot(path: Path, entries: Iterable[str] = ()) -> dict[str, Any]:
    """The state of the checkpoint `path`, without the weights; it has at least these entries."""
    try:
        state = torch.load(path / _STATE, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file fails in many ways
        raise Damaged(f"{path}: not a readable checkpoint ({_brief(error)})") from error
    if not isinstance(state, dict) or not set(entries) <= state.keys():
        raise Damaged(f"{path}: not a checkpoint of a run ({_STATE} holds something else)")
    return state


def load_weights(path: Path, model: nn.Module, *, average: bool = False) -> None:
    """Give `model` the weights of the checkpoint `path`, or their average."""
    try:
        weights = load_file(path / (_AVERAGE if average else _WEIGHTS))
        missing, unexpected = model.load_state_dict(weights, strict=False)
    except (OSError, RuntimeError, SafetensorError) as error:
        raise Damaged(f"{path}: not a readable checkpoint ({_brief(error)})") from error
    wrong = [*(set(missing) - fixed(model)), *unexpected]
    if wrong:
        raise Damaged(f"{path}: not a checkpoint of this model ({', '.join(sorted(wrong))})")


def _brief(error: Exception) -> str:
    """The first sentence of what went wrong, on one line."""
    return " ".join(str(error).partition(". ")[0].split()) or type(error).__name__


def prune(folder: Path, keep: Iterable[str]) -> None:
    """Remove all checkpoints but those named in `keep`, and what was never finished.

    Folders of such a name that hold anything else, or are links, are not the run's and stay.
    """
    kept = set(keep)
    for path in sorted(folder.glob("*"), reverse=True):  # of a name, what is partial comes first
        name = path.name.removesuffix(PARTIAL)
        if path.name not in kept and _NAME.fullmatch(name) and _is_checkpoint(path):
            doomed = path.with_name(name + PARTIAL)  # what a kill leaves of it is known by that
            path.rename(doomed)
            shutil.rmtree(doomed)


def _is_checkpoint(path: Path) -> bool:
    """Whether a folder, and no link, holds files of a checkpoint and nothing else.

    One that was never finished may have none.
    """
    if path.is_symlink() or not path.is_dir():
        return False
    files = list(path.iterdir())
    ours = all(f.name in (_WEIGHTS, _AVERAGE, _STATE) and not f.is_symlink() for f in files)
    return ours and (bool(files) or path.suffix == PARTIAL)
