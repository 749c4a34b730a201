"""Host copies of tensors on a device, to read their values without a transfer."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

_ALIGNMENT = 16  # bytes: no dtype is wider


class _Known(NamedTuple):
    """The values of a tensor on the host, and the versions of both tensors."""

    host: Tensor
    versions: tuple[int, int]


_known = WeakTensorKeyDictionary()  # Tensor -> _Known


def remember(tensor: Tensor, host: Tensor) -> Tensor:
    """Record that `tensor` has the values of `host`, on the CPU, until one of them is modified."""
    if not (tensor.is_inference() or host.is_inference()):  # inference tensors have no version
        _known[tensor] = _Known(host, (tensor._version, host._version))
    return tensor


def host_copy(tensor: Tensor) -> Tensor:
    """The values of `tensor` on the CPU, copied at most once, or not at all if remembered.

    Do not modify the result. Writes through `.data` or by a replayed CUDA graph are not detected.
    """
    if tensor.device.type == "cpu":
        return tensor
    host = recalled(tensor)
    if host is None:
        host = tensor.detach().cpu()
        remember(tensor, host)
    return host


def as_int64(tensor: Tensor, device: torch.device | str) -> Tensor:
    """The integers `tensor` as int64 on `device`; their host copy is kept, if any."""
    moved = tensor.to(device, torch.int64)
    if moved is tensor or moved.device.type == "cpu" or torch.compiler.is_compiling():
        return moved
    host = tensor if tensor.device.type == "cpu" else recalled(tensor)
    return moved if host is None else remember(moved, host.to(torch.int64))


def recalled(tensor: Tensor) -> Tensor | None:
    """The remembered values of `tensor`, if still valid."""
    known: _Known | None = _known.get(tensor)
    if known is None or known.versions != (tensor._version, known.host._version):
        return None
    return known.host


def move(tensors: Sequence[Tensor], device: torch.device | str) -> list[Tensor]:
    """Copy `tensors` to `device`; to a GPU in one asynchronous transfer, and remembered.

    The copies on a GPU are views of one buffer and carry no gradient.
    """
    device = torch.device(device)
    if device.type != "cuda" or any(tensor.device.type != "cpu" for tensor in tensors):
        return [tensor.to(device) for tensor in tensors]
    packed = pack(tensors, pin=True).to(device, non_blocking=True)
    pairs = zip(unpack(packed, tensors), tensors, strict=True)
    return [remember(moved, tensor) for moved, tensor in pairs]


def pack(tensors: Sequence[Tensor], *, pin: bool = False) -> Tensor:
    """The concatenated bytes of `tensors`, optionally in pinned memory."""
    starts = _starts(tensors)
    packed = torch.empty(starts[-1], dtype=torch.uint8, pin_memory=pin)
    for place, tensor in zip(unpack(packed, tensors), tensors, strict=True):
        place.copy_(tensor)
    return packed


def unpack(packed: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Views of the bytes `packed`, with the dtypes and shapes of `like`."""
    starts = _starts(like)
    return [
        packed[start : start + tensor.numel() * tensor.itemsize]
        .view(tensor.dtype)
        .view(tensor.shape)
        for start, tensor in zip(starts, like, strict=False)
    ]


def _starts(tensors: Sequence[Tensor]) -> list[int]:
    """The first byte of each tensor, and the end."""
    starts = [0]
    for tensor in tensors:
        size = tensor.numel() * tensor.itemsize
        starts.append(starts[-1] + -(-size // _ALIGNMENT) * _ALIGNMENT)
    return starts
