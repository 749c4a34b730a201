"""Noise that perturbs scores; float64 on their device unless said otherwise."""

import math

import torch
from torch import Tensor

_TERMS = 10  # terms of the sum, as in the experiments of the paper


def normal(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Standard normal noise with the shape of `like`."""
    return torch.randn(like.shape, dtype=torch.float64, device=like.device, generator=generator)


def gumbel(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Gumbel noise, `P(z <= x) = exp(-exp(-x))`, with the shape of `like`."""
    return gumbel_of(torch.empty(like.shape, dtype=torch.float64, device=like.device), generator)


def gumbel_of(blank: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Gumbel noise with the shape and dtype of `blank`, whose values are lost."""
    waits = blank.exponential_(generator=generator)
    return -waits.clamp(min=torch.finfo(waits.dtype).tiny).log()


def sum_of_gamma(
    like: Tensor,
    k: Tensor,
    generator: torch.Generator | None,
    where: Tensor | None = None,
) -> Tensor:
    r"""Noise such that the sum of `k` independent values is approximately a Gumbel variable.

        1/k (sum_{i=1}^s Gamma(1/k, k/i) - log s),     by shape and scale,    s = 10

    Niepert, Minervini & Franceschi 2021, section 3.3.

    Args:
        like: (T, *parts), gives the shape.
        k: (T,), the number of values for each row.
        generator: random number generator.
        where: (T, *parts) bool, the values to draw, which are slow to; the others are 0. None: all.
    """
    k = k.double().view(-1, *[1] * (like.ndim - 1)).expand(like.shape)
    if where is not None:
        k = k[where]
    shape = (1 / k)[..., None].expand(*k.shape, _TERMS).contiguous()
    # A private function, but the only one that takes a generator; torch.distributions uses it too.
    terms = torch._standard_gamma(shape, generator)  # pyright: ignore[reportPrivateImportUsage]
    i = torch.arange(1, _TERMS + 1, dtype=torch.float64, device=like.device)
    noise = (terms / i).sum(-1) - math.log(_TERMS) / k
    return noise if where is None else noise.new_zeros(like.shape).masked_scatter(where, noise)
