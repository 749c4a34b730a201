"""Reproducibility: the random generators, and a fingerprint of data and fixed weights."""

import random
from array import array
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

import numpy
import torch
from torch import Tensor, nn

from sparsewood.lab.data.batches import Split
from sparsewood.lab.data.examples import Example
from sparsewood.lab.tasks.pretrained import PretrainedEncoder
from sparsewood.nn.latent import LatentTreeEncoder


def seed_everything(seed: int) -> None:
    """Seed the global generators of Python, NumPy and PyTorch."""
    random.seed(seed)
    numpy.random.seed(seed % 2**32)  # noqa: NPY002 (other code may use it)
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


def fingerprint(model: nn.Module, splits: Iterable[Split]) -> str:
    """A short hash of the data (words, labels and heads) and of the fixed parts of the model:
    weights, and the tokenizer of a pretrained encoder.
    """
    digest = blake2b(digest_size=16)
    state = model.state_dict()
    for name in sorted(fixed(model) & state.keys()):  # some buffers are not saved
        digest.update(state[name].cpu().contiguous().numpy().tobytes())
    for module in model.modules():
        if isinstance(module, PretrainedEncoder):
            digest.update(module.shape.tokenizer.encode())
    for split in splits:
        for part in as_bytes(split.examples):
            digest.update(part)
    return digest.hexdigest()


def as_bytes(examples: Iterable[Example], *, heads: bool = True) -> Iterator[bytes]:
    """Labels, words and, by default, heads as bytes for a hash."""
    for example in examples:
        yield f"{example.label}\0".encode()
        if example.labels is not None:
            yield "\0".join([*sorted(example.labels), "\0"]).encode()
        for sentence in example.sentences:
            yield "\0".join([*sentence.words, "\0"]).encode()
            if heads:
                yield array("q", sentence.heads or ()).tobytes()


def fixed(model: nn.Module) -> set[str]:
    """The entries of the state that training does not change."""
    parameters = {name for name, p in model.named_parameters() if not p.requires_grad}
    buffers = {name for name, _ in model.named_buffers()}
    return parameters | (buffers - remembered(model).keys())


def remembered(model: nn.Module) -> dict[str, Tensor]:
    """The buffers that training changes, by name: the memory of estimators."""
    return {
        f"{name}.memory.{entry}": buffer
        for name, module in model.named_modules()
        if isinstance(module, LatentTreeEncoder) and module.memory is not None
        for entry, buffer in module.memory.named_buffers()
    }
