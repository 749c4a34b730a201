"""Sums over monotone paths with one cell in each row or column, from the scores of cells.

`native/sums/path_lines.h` goes through the table a line at a time, without a table of steps. First
and second derivatives of the results are those of the chart.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._internal.threads import get_num_threads
from sparsewood._internal.transforms import is_transformed
from sparsewood.structures.recursions.monotone import Steps

Marginals = Callable[[Tensor], Tensor]  # scores of cells -> marginals, in a graph


def line_sums(
    cells: Tensor, lengths: Tensor | None, steps: Steps, marginals: Marginals
) -> tuple[Tensor, Tensor] | None:
    """The log-partition function (B,) and the probability of each cell (B, n, m).

    None: some step leads neither to the next row nor to the next column, there is no code for the
    device, or no path comes near the best cells, so that only the chart is exact. `marginals`
    computes the marginals for second derivatives.
    """
    by_columns = all(b == 1 for _, b in steps.pairs)
    by_rows = all(a == 1 for a, _ in steps.pairs) and not steps.blanks
    if not (by_columns or by_rows) or cells.device.type != "cpu" or is_transformed(cells):
        return None
    if lengths is None:
        lengths = torch.tensor(cells.shape[1:]).expand(len(cells), 2)
    log_sums, found = _LineSums.apply(cells, lengths.contiguous(), steps.bits, marginals)
    return None if bool((log_sums.detach() == torch.inf).any()) else (log_sums, found)


class _LineSums(torch.autograd.Function):
    """The marginals, which are the gradient, are an output that autograd can differentiate."""

    @staticmethod
    def forward(
        ctx: Any, cells: Tensor, lengths: Tensor, bits: int, marginals: Marginals
    ) -> tuple[Tensor, Tensor]:
        table = cells.detach().contiguous()
        log_sums, found = table.new_empty(len(table)), torch.empty_like(table)
        tables = table.numpy(), lengths.numpy(), bits, log_sums.numpy(), found.numpy()
        _native.sum_paths(*tables, get_num_threads())
        ctx.save_for_backward(cells, found)
        ctx.marginals = marginals
        ctx.set_materialize_grads(False)
        return log_sums, found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, None, None, None]:
        by_log_sums, by_marginals = grads
        cells, found = ctx.saved_tensors
        result = None
        if by_log_sums is not None:
            result = by_log_sums[:, None, None] * found
        if by_marginals is not None:
            second = _by_marginals(ctx, cells, by_marginals)
            result = second if result is None else result + second
        return result, None, None, None


def _by_marginals(ctx: Any, cells: Tensor, along: Tensor) -> Tensor:
    """The second derivative of the log-sums times `along`, with the shape of the cells."""
    has_graph = torch.is_grad_enabled()
    with torch.enable_grad():
        leaf = cells if has_graph and cells.requires_grad else cells.detach().requires_grad_()
        (product,) = torch.autograd.grad(
            ctx.marginals(leaf), leaf, along, create_graph=has_graph, materialize_grads=True
        )
    return product
