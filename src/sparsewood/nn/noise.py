"""Noise on scores while a model is trained."""

import torch
from torch import Tensor, nn

from sparsewood._internal.numbers import check_real


class GumbelNoise(nn.Module):
    """Scores plus Gumbel noise in training, the scores themselves in evaluation, like `Dropout`.

        theta + scale * g,        P(g <= x) = exp(-exp(-x)), for each part on its own

    The best structure of noisy scores is a sample, perturb-and-MAP (Papandreou & Yuille 2011); with
    an estimator such as SparseMAP behind it, a sample of the sparse posterior, exact gradient
    included. A model whose scores still mean little so tries many structures, and does not settle
    on the first one that it happens upon.

        encoder = LatentTreeEncoder(scorer, composer, estimator=estimator, noise=GumbelNoise(1.0))

    Args:
        scale: of the noise; 0 for none. It may be set to another value at any time.
    """

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        check_real("scale", scale)
        self.scale = scale

    def forward(self, scores: Tensor) -> Tensor:
        """`scores`, of any shape and floating dtype; -inf, a forbidden part, stays -inf."""
        if not self.training or self.scale == 0:
            return scores
        # The logarithm of what 16 bits hold of a small number may be infinite.
        dtype = torch.promote_types(scores.dtype, torch.float32)
        noise = -torch.empty_like(scores, dtype=dtype).exponential_().log()
        return scores + (self.scale * noise).to(scores.dtype)

    def extra_repr(self) -> str:
        return f"{self.scale:g}"
