"""Noise on scores during training."""

import torch
from torch import Tensor, nn

from sparsewood._internal.numbers import check_real
from sparsewood.estimators._noise import gumbel_of


class GumbelNoise(nn.Module):
    """Adds Gumbel noise to scores during training; the identity in evaluation, like `Dropout`.

        theta + scale * g,        P(g <= x) = exp(-exp(-x)), independent for each part

    The best structure of noisy scores is a perturb-and-MAP sample (Papandreou & Yuille 2011). With
    an estimator such as SparseMAP, the result is a random sparse posterior with its exact gradient.
    Noise makes a model with uninformative scores try many structures early in training.

        encoder = LatentTreeEncoder(scorer, composer, estimator=estimator, noise=GumbelNoise(1.0))

    Args:
        scale: scale of the noise, 0 for none; may be changed at any time.
    """

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        check_real("scale", scale)
        self.scale = scale

    def forward(self, scores: Tensor) -> Tensor:
        """`scores` may have any shape and floating dtype; -inf (a forbidden part) stays -inf."""
        if not self.training or self.scale == 0:
            return scores
        # In 16 bits a small number may round to 0, whose logarithm is infinite.
        dtype = torch.promote_types(scores.dtype, torch.float32)
        noise = gumbel_of(torch.empty_like(scores, dtype=dtype))
        return scores + (self.scale * noise).to(scores.dtype)

    def extra_repr(self) -> str:
        return f"{self.scale:g}"
