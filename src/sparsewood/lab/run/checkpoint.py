"""Checkpoints: the weights and all else that going on bit for bit takes.

`checkpoints/0003` is the state after epoch 3, `checkpoints/0003-000120` that after 120 more steps.
Weights that training does not change (given word vectors, a pretrained encoder) are left out: the
run makes them anew from where it had them, and `fingerprint` tells whether they are the same.
"""

import io
import random
import re
import shutil
from array import array
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as pack
from torch import Tensor, nn

from sparsewood.lab._files import PARTIAL, new_folder
from sparsewood.lab.data.batches import Split
from sparsewood.lab.data.examples import Example
from sparsewood.lab.tasks.pretrained import PretrainedEncoder
from sparsewood.nn.latent import LatentTreeEncoder

_NAME = re.compile(r"(\d+)(?:-(\d+))?")
_WEIGHTS, _AVERAGE, _STATE = "model.safetensors", "average.safetensors", "state.pt"


def name_of(epoch: int, step: int = 0) -> str:
    """The name of the checkpoint after `epoch` epochs and `step` steps of the next."""
    return f"{epoch:04d}" + (f"-{step:06d}" if step else "")


class Damaged(ValueError):  # noqa: N818 (what the checkpoint is)
    """A checkpoint that cannot be read, or that is not one of this run."""


def checkpoints(folder: Path) -> list[Path]:
    """Those in `folder`, the one that has come furthest first."""
    found = [(_NAME.fullmatch(p.name), p) for p in folder.glob("*") if _is_checkpoint(p)]
    places = [((int(m[1]), int(m[2] or 0)), path) for m, path in found if m]
    return [path for _, path in sorted(places, reverse=True)]


def latest(folder: Path) -> Path | None:
    """The checkpoint among those in `folder` that has come furthest."""
    return next(iter(checkpoints(folder)), None)


def save(
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
    fixed = _fixed(model)
    return pack({k: v.contiguous() for k, v in model.state_dict().items() if k not in fixed})


def load(path: Path, entries: Iterable[str] = ()) -> dict[str, Any]:
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
    wrong = [*(set(missing) - _fixed(model)), *unexpected]
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


def fingerprint(model: nn.Module, splits: Iterable[Split]) -> str:
    """A short hash of the data: words, labels and heads, and what stays fixed of the model.

    That is weights, and the tokenizer of a pretrained encoder.
    """
    digest = blake2b(digest_size=16)
    state = model.state_dict()
    for name in sorted(_fixed(model) & state.keys()):  # some buffers are made anew each time
        digest.update(state[name].cpu().contiguous().numpy().tobytes())
    for module in model.modules():
        if isinstance(module, PretrainedEncoder):
            digest.update(module.shape.tokenizer.encode())
    for split in splits:
        for part in as_bytes(split.examples):
            digest.update(part)
    return digest.hexdigest()


def as_bytes(examples: Iterable[Example], *, heads: bool = True) -> Iterator[bytes]:
    """Labels, words and, unless told otherwise, heads, as a hash takes them."""
    for example in examples:
        yield f"{example.label}\0".encode()
        if example.labels is not None:
            yield "\0".join([*sorted(example.labels), "\0"]).encode()
        for sentence in example.sentences:
            yield "\0".join([*sentence.words, "\0"]).encode()
            if heads:
                yield array("q", sentence.heads or ()).tobytes()


def _fixed(model: nn.Module) -> set[str]:
    """The entries of the state that training does not change."""
    parameters = {name for name, p in model.named_parameters() if not p.requires_grad}
    buffers = {name for name, _ in model.named_buffers()}
    return parameters | (buffers - remembered(model).keys())


def remembered(model: nn.Module) -> dict[str, Tensor]:
    """The buffers that training changes, by name: what estimators remember."""
    return {
        f"{name}.memory.{entry}": buffer
        for name, module in model.named_modules()
        if isinstance(module, LatentTreeEncoder) and module.memory is not None
        for entry, buffer in module.memory.named_buffers()
    }


def seed_everything(seed: int) -> None:
    """Seed the global generators of Python, NumPy and PyTorch."""
    random.seed(seed)
    numpy.random.seed(seed % 2**32)  # noqa: NPY002 (others' code may draw from it)
    torch.manual_seed(seed)


def random_state(device: torch.device) -> dict[str, Any]:
    """The state of the global generators."""
    kind, keys, *rest = numpy.random.get_state()  # noqa: NPY002
    return {
        "python": random.getstate(),
        "numpy": (kind, torch.from_numpy(numpy.asarray(keys, dtype=numpy.int64)), *rest),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
    }


def set_random_state(state: Mapping[str, Any], device: torch.device) -> None:
    """The inverse of `random_state`."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    kind, words, *rest = state["numpy"]
    keys = torch.as_tensor(words).numpy().astype(numpy.uint32)
    numpy.random.set_state((kind, keys, *rest))  # noqa: NPY002
    torch.set_rng_state(state["torch"])
    cuda: Tensor | None = state["cuda"]
    if cuda is not None and device.type == "cuda":
        torch.cuda.set_rng_state(cuda, device)
