"""Random numbers that perturb scores: float64, on their device, all by one call."""

import math

import torch
from torch import Tensor

_TERMS = 10  # of the sum, as in the experiments of the paper


def normal(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Of the standard normal distribution, in the shape of `like`."""
    return torch.randn(like.shape, dtype=torch.float64, device=like.device, generator=generator)


def gumbel(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """`P(z <= x) = exp(-exp(-x))`, in the shape of `like`."""
    waits = torch.empty(like.shape, dtype=torch.float64, device=like.device)
    return -waits.exponential_(generator=generator).clamp(min=torch.finfo(waits.dtype).tiny).log()


def sum_of_gamma(like: Tensor, k: Tensor, generator: torch.Generator | None) -> Tensor:
    r"""Noise of which `k` independent numbers add up to a Gumbel variable, nearly.

        1/k (sum_{i=1}^s Gamma(1/k, k/i) - log s),     by shape and scale,    s = 10

    Niepert, Minervini & Franceschi 2021, section 3.3.

    Args:
        like: (T, *parts), for the shape.
        k: (T,), the number for each row.
        generator: of the random numbers.
    """
    k = k.double().view(-1, *[1] * (like.ndim - 1))
    shape = (1 / k).expand(like.shape)[..., None].expand(*like.shape, _TERMS).contiguous()
    # A private name, but the only way to pass a generator; torch.distributions itself calls it.
    terms = torch._standard_gamma(shape, generator)  # pyright: ignore[reportPrivateImportUsage]
    i = torch.arange(1, _TERMS + 1, dtype=torch.float64, device=like.device)
    return (terms / i).sum(-1) - math.log(_TERMS) / k
