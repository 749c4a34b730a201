"""Scores minus a constant that all structures of an instance share, for numerical precision.

Adding the same constant to the score of every structure changes no probability, but a sum of large
scores loses the digits of their differences. So the constant is subtracted before summation.
"""

from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor
from torch.nn.functional import pad, threshold

from sparsewood import _native
from sparsewood._internal.cuda import Kernels, Program, load
from sparsewood._internal.threads import get_num_threads
from sparsewood._internal.transforms import is_transformed
from sparsewood.structures.recursions.totals import FORBIDDEN, is_empty, pick

_PROGRAM = Program('#include "cuda/shift_arcs.cuh"', ("shift_arcs",))


@dataclass(frozen=True, eq=False)
class Shifted:
    """Scores of the steps of a recursion, and the constant that was subtracted.

        <theta, m(h)> = shared + <scores, s(h)>      for every structure h

    with the 0/1 parts `m(h)` and the steps `s(h)` of a structure. In most families the steps are
    the parts. If structures differ in how many parts they use, not using a part is also a step.
    """

    scores: Tensor  # (B, *steps) float64; FORBIDDEN entries are unchanged
    shared: Tensor  # (B,) float64, without gradient


def top(scores: Tensor, dim: int | tuple[int, ...]) -> Tensor:
    """The maximum along `dim` (kept as size 1), detached; 0 where all are forbidden."""
    return or_zero(scores.detach().amax(dim, keepdim=True))


def or_zero(scores: Tensor) -> Tensor:
    """Replace forbidden entries by 0."""
    return threshold(scores, FORBIDDEN / 2, 0.0)


def on_a_grid(potential: Tensor) -> Tensor:
    """(B, ...) rounded to multiples of one power of two, so that differences are exact.

    Potentials may be arbitrary numbers, but if their differences were rounded, they would not sum
    to the same constant for all structures.
    """
    low, high = potential.flatten(1).aminmax(dim=-1)
    reach = (high.clamp(min=0) - low.clamp(max=0)).clamp(min=1e-200)  # of any difference or value
    # The finest grid with 2**53 steps in that range: it contains the largest potentials exactly.
    unit = reach / torch.frexp(reach).mantissa * 2.0**-53
    unit = unit.view(-1, *[1] * (potential.ndim - 1))
    return (potential / unit).round() * unit


def settle(starts: Tensor, ends: Tensor, last: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Potentials of starts, (B, S, K), and of ends, (B, E, K), rounded to one grid.

    All ends at position `last` (B,) complete a structure, so they take the largest potential among
    them, which is also returned, (B,).
    """
    best = pick(ends, last).amax(-1)
    final = torch.arange(ends.shape[1], device=ends.device) == last[:, None]
    ends = torch.where(final.unsqueeze(-1), best[:, None, None], ends)
    both = on_a_grid(or_zero(torch.cat([starts, ends], 1)))
    starts, ends = both.split([starts.shape[1], ends.shape[1]], 1)
    return starts, ends, pick(ends, last).amax(-1)


def potentials(scores: Tensor, max_length: int) -> tuple[Tensor, Tensor]:
    """The best score of prefixes before each label starts, (B, T, K), and ends, (B, T + 1, K)."""
    if scores.device.type == "cpu" and not is_transformed(scores):
        batch, positions, labels, _ = scores.shape
        starts = scores.new_empty(batch, positions, labels)
        ends = scores.new_empty(batch, positions + 1, labels)
        table = scores.contiguous().numpy()
        _native.segment_potentials(
            table, max_length, starts.numpy(), ends.numpy(), get_num_threads()
        )
        return starts, ends
    segments = scores[..., :max_length].unbind(1)
    steps = scores[..., max_length:].unbind(1)
    starts, ends = [torch.zeros_like(segments[0][..., 0])], [torch.zeros_like(segments[0][..., 0])]
    pending = torch.full_like(segments[0], FORBIDDEN)
    for t, segment in enumerate(segments):
        if t > 0:
            starts.append((ends[-1].unsqueeze(1) + steps[t]).amax(-1))
        pending = torch.maximum(pending, starts[-1].unsqueeze(-1) + segment)
        ends.append(pending[..., 0])
        pending = pad(pending[..., 1:], (0, 1), value=FORBIDDEN)
    return torch.stack(starts, 1), torch.stack(ends, 1)


def shift_arcs(scores: Tensor, single_root: bool) -> Shifted:
    """Arcs (B, n, n + 1), or labelled arcs (B, n, n + 1, L), of which every word has one."""
    # The constant carries no gradient. In place, as memory is the main cost.
    transformed = is_transformed(scores)
    root = prod(scores.shape[3:]) if single_root else 0  # entries per row
    if not transformed and (kernels := load(_PROGRAM, scores.device)):
        return _shift_by_kernel(kernels, scores.contiguous(), root)
    if not transformed and scores.device.type == "cpu" and scores.is_contiguous():
        shared = torch.empty(len(scores), dtype=scores.dtype)
        _native.shift_arcs(scores.detach().flatten(2).numpy(), shared.numpy(), root)
        return Shifted(scores, shared)
    if transformed:
        scores = scores.clone()
    with torch.no_grad():
        plain = scores.detach()
        if single_root:
            return Shifted(scores, _shift_single_root(plain))
        rows = top(plain, tuple(range(2, plain.ndim)))
        plain -= rows
        return Shifted(scores, rows.flatten(1).sum(-1))


def _shift_by_kernel(kernels: Kernels, scores: Tensor, root: int) -> Shifted:
    batch, n = scores.shape[:2]
    shared, room = scores.new_empty(batch), scores.new_empty(batch, 2, n)
    cells, width = prod(scores.shape[2:]), 16  # lanes per row
    threads = min(512, -(-n * width // 32) * 32)
    kernels.launch("shift_arcs", batch, threads, scores, n, cells, root, width, room, shared)
    return Shifted(scores, shared)


def _shift_single_root(arcs: Tensor) -> Tensor:
    """Shift arcs in place; returns the constant. Exactly one arc comes from the root.

    So root arcs have their own shift, applied before the shifts of rows: neither large scores of
    all root arcs nor of all other arcs may cost precision. The row of a word whose only possible
    head is the root is shifted last.
    """
    row, column = tuple(range(2, arcs.ndim)), tuple(range(1, arcs.ndim))
    root, words = arcs[:, :, :1], arcs[:, :, 1:]
    first = top(root, column)
    root = root - first
    best = words.amax(row, keepdim=True)
    rows = or_zero(best)
    second = top(torch.where(is_empty(best), FORBIDDEN, root - rows), column)
    only = root.amax(row, keepdim=True)
    rows = torch.where(is_empty(best) & ~is_empty(only), only - second, rows)
    arcs -= rows
    arcs[:, :, :1] = root - rows - second
    return (first + second).flatten() + rows.flatten(1).sum(-1)
