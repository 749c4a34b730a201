"""Log-partition functions, marginals and samples by charts: `native/sums/chart.h`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._internal.threads import get_num_threads
from sparsewood.structures.recursions.chart_kernels import ChartKernels
from sparsewood.structures.recursions.hessian import hessian_product


class Chart(NamedTuple):
    """The chart that sums over the steps of a family."""

    name: str
    sizes: Tensor  # (B, d) int64 on the device of the scores
    full: tuple[int, ...]  # the largest sizes


Recursion = Callable[[Tensor], Tensor]  # scores of steps -> log-sums (B,), in PyTorch


class _Native:
    """A chart on the CPU, with the methods of `ChartKernels`."""

    def __init__(self, chart: Chart, scores: Tensor) -> None:
        table = scores.detach().contiguous()
        self._given = (chart.name, table.numpy(), chart.sizes.contiguous().numpy())

    def sums(self, log_sums: Tensor, marginals: Tensor) -> None:
        outputs = log_sums.numpy(), marginals.numpy()
        _native.sum_chart(*self._given, *outputs, get_num_threads())

    def hessian(self, direction: Tensor, product: Tensor) -> None:
        tables = direction.contiguous().numpy(), product.numpy()
        _native.chart_hessian(*self._given, *tables, get_num_threads())

    def sample(self, seeds: Tensor, samples: Tensor) -> None:
        _native.sample_chart(*self._given, seeds.numpy(), samples.numpy(), get_num_threads())


def _code(chart: Chart | None, scores: Tensor) -> ChartKernels | _Native | None:
    """The code that works on a chart for the device of the scores, if there is any."""
    if chart is None:
        return None
    kernels = ChartKernels.of(chart.name, scores, chart.sizes, chart.full)
    if kernels is None and scores.device.type == "cpu":
        return _Native(chart, scores)
    return kernels


def chart_sums(
    chart: Chart | None, scores: Tensor, recursion: Recursion
) -> tuple[Tensor, Tensor] | None:
    """The log-partition function (B,) and the marginals of the steps scored (B, *steps).

    `recursion` computes the former in PyTorch: for second derivatives that need a graph themselves.
    None: there is no chart, or no code for the device.
    """
    code = _code(chart, scores)
    return None if code is None else _ChartSums.apply(scores, code, recursion)


def chart_samples(
    chart: Chart | None, scores: Tensor, n: int, generator: torch.Generator | None
) -> Tensor | None:
    """`n` structures per instance, as steps (n * B, *steps) 0/1; None as for `chart_sums`."""
    code = _code(chart, scores)
    if code is None:
        return None
    samples = scores.new_zeros(n, *scores.shape)
    code.sample(draw_seeds(scores, n, generator), samples)
    return samples.flatten(0, 1)


def draw_seeds(scores: Tensor, n: int, generator: torch.Generator | None) -> Tensor:
    """A seed for each of `n` samples of each instance, (n, B) int64 on the device of the scores."""
    ends = torch.iinfo(torch.int64)
    shape = n, len(scores)
    return torch.randint(ends.min, ends.max, shape, generator=generator, device=scores.device)


class _ChartSums(torch.autograd.Function):
    """The marginals, which are the gradient, are an output so that autograd can differentiate them.

    The chart gives second derivatives; higher ones use the recursion in PyTorch.
    """

    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, code: ChartKernels | _Native, recursion: Recursion
    ) -> tuple[Tensor, Tensor]:
        log_sums, marginals = scores.new_empty(len(scores)), _zeros_like(scores)
        code.sums(log_sums, marginals)
        ctx.save_for_backward(scores, marginals)
        ctx.code, ctx.recursion = code, recursion
        ctx.set_materialize_grads(False)
        return log_sums, marginals

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, None, None]:
        by_log_sums, by_marginals = grads
        scores, marginals = ctx.saved_tensors
        result = None
        if by_log_sums is not None:
            result = by_log_sums.view(-1, *[1] * (scores.ndim - 1)) * marginals
        if by_marginals is not None:
            second = _by_marginals(ctx, scores, by_marginals)
            result = second if result is None else result + second
        return result, None, None


def _by_marginals(ctx: Any, scores: Tensor, along: Tensor) -> Tensor:
    """The second derivative of the log-sums times `along`, with the shape of the scores."""
    if torch.is_grad_enabled():
        return hessian_product(ctx.recursion, scores, along)
    product = _zeros_like(scores)
    ctx.code.hessian(along, product)
    return product


def _zeros_like(scores: Tensor) -> Tensor:
    return torch.zeros_like(scores, memory_format=torch.contiguous_format)
