"""What the host knows of tensors on a device, so that a look at their values costs no copy."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

_ALIGNMENT = 16  # bytes: no dtype is wider


class _Known(NamedTuple):
    """The values of a tensor, and the versions of it and of them that they are."""

    host: Tensor
    versions: tuple[int, int]


_known = WeakTensorKeyDictionary()  # Tensor -> _Known


def remember(tensor: Tensor, host: Tensor) -> Tensor:
    """`tensor`, whose values are those of `host` on the CPU until one of the two is written to."""
    if not (tensor.is_inference() or host.is_inference()):  # such count no versions
        _known[tensor] = _Known(host, (tensor._version, host._version))
    return tensor


def host_copy(tensor: Tensor) -> Tensor:
    """The values of `tensor` on the CPU; they are copied once, and not where they came from there.

    Not to be written to. A write by way of `.data` or of a graph that is replayed is not noticed.
    """
    if tensor.device.type == "cpu":
        return tensor
    host = recalled(tensor)
    if host is None:
        host = tensor.detach().cpu()
        remember(tensor, host)
    return host


def as_int64(tensor: Tensor, device: torch.device | str) -> Tensor:
    """The integers `tensor` as int64 on `device`, and remembered there if they are known."""
    moved = tensor.to(device, torch.int64)
    if moved is tensor or moved.device.type == "cpu" or torch.compiler.is_compiling():
        return moved
    host = tensor if tensor.device.type == "cpu" else recalled(tensor)
    return moved if host is None else remember(moved, host.to(torch.int64))


def recalled(tensor: Tensor) -> Tensor | None:
    """What was remembered of `tensor`, if it still holds."""
    known: _Known | None = _known.get(tensor)
    if known is None or known.versions != (tensor._version, known.host._version):
        return None
    return known.host


def move(tensors: Sequence[Tensor], device: torch.device | str) -> list[Tensor]:
    """`tensors` on `device`: to a GPU in one transfer that is not waited for, and remembered.

    Those on the way are views of one buffer, and carry no gradient.
    """
    device = torch.device(device)
    if device.type != "cuda" or any(tensor.device.type != "cpu" for tensor in tensors):
        return [tensor.to(device) for tensor in tensors]
    packed = pack(tensors, pin=True).to(device, non_blocking=True)
    pairs = zip(unpack(packed, tensors), tensors, strict=True)
    return [remember(moved, tensor) for moved, tensor in pairs]


def pack(tensors: Sequence[Tensor], *, pin: bool = False) -> Tensor:
    """The bytes of `tensors` one after the other, in memory that a GPU reads by itself or not."""
    starts = _starts(tensors)
    packed = torch.empty(starts[-1], dtype=torch.uint8, pin_memory=pin)
    for place, tensor in zip(unpack(packed, tensors), tensors, strict=True):
        place.copy_(tensor)
    return packed


def unpack(packed: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Views of the bytes `packed`, with dtypes and shapes as of those that were packed."""
    starts = _starts(like)
    return [
        packed[start : start + tensor.numel() * tensor.itemsize]
        .view(tensor.dtype)
        .view(tensor.shape)
        for start, tensor in zip(starts, like, strict=False)
    ]


def _starts(tensors: Sequence[Tensor]) -> list[int]:
    """Where the bytes of each begin, and where all end."""
    starts = [0]
    for tensor in tensors:
        size = tensor.numel() * tensor.itemsize
        starts.append(starts[-1] + -(-size // _ALIGNMENT) * _ALIGNMENT)
    return starts
