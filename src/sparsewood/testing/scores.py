"""Random scores for tests, including kinds that have caused bugs."""

import torch
from torch import Tensor

KINDS = ("normal", "small", "large", "integers", "equal", "forbidden")


def draw_scores(kind: str, batch: int, shape: tuple[int, ...], seed: int) -> Tensor:
    """Scores (batch, *shape) float64 of a named kind, determined by the seed."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(batch, *shape, dtype=torch.float64, generator=generator)
    if kind == "small":
        return scores * 1e-4  # near-equal, with a range large enough to certify a gap in float64
    if kind == "large":
        return scores * 1e6
    if kind == "integers":  # ties, and optima with zero weights
        return scores.round()
    if kind == "equal":
        return torch.full_like(scores, 0.1)
    if kind == "forbidden":
        banned = torch.rand(scores.shape, generator=generator) < 0.2
        return scores.masked_fill(banned, -torch.inf)
    return scores
