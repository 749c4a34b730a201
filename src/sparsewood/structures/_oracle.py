"""The MAP oracle of native families, also as an operator for compiled graphs."""

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._internal.threads import get_num_threads
from sparsewood.structures import _kernels


def find(
    scores: Tensor,
    event: Sequence[int],
    lengths: Tensor | None,
    full: Sequence[int],
    family: str,
    options: Sequence[int],
    batch: Sequence[int],
) -> Tensor:
    """The highest scoring structure of each instance: (B, *event) int64.

    Args:
        scores: (B, *parts), -inf at parts that the family excludes.
        event: the shape of one structure.
        lengths: (B, d) int64, the size of each instance; None: all have full size.
        full: d numbers, the full size.
        family: the name of the native family.
        options: the options of the family.
        batch: the batch shape used for indices in error messages.
    """
    padded = _kernels.KernelBatch.of("argmax", family, options, scores, lengths, full)
    best = None if padded is None else _kernels.argmax(padded, tuple(event))
    if best is not None:
        return best.structures
    if lengths is None:
        lengths = torch.tensor(full).expand(len(scores), -1)
    structures = torch.empty(len(scores), prod(event), dtype=torch.int64)
    dtype = torch.float32 if scores.dtype == torch.float32 else torch.float64
    table = scores.detach().to("cpu", dtype).contiguous()
    sizes = lengths.to("cpu", torch.int64).contiguous()
    given = family, tuple(options), table, sizes, tuple(full), structures
    _native.argmax(*given, get_num_threads(), batch)
    return structures.reshape(-1, *event).to(scores.device)


find_op = torch.library.custom_op("sparsewood::argmax", find, mutates_args=())


@find_op.register_fake
def _(scores: Tensor, event: Sequence[int], *_: object) -> Tensor:
    return scores.new_empty(scores.shape[0], *event, dtype=torch.int64)
