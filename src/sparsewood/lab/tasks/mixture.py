"""The loss of a mixture over structures."""

from typing import Literal

from torch import Tensor

from sparsewood._internal.host import host_copy
from sparsewood._internal.support import log_expectation
from sparsewood.pairs import PairPosterior
from sparsewood.posterior import Posterior


def widened(x: Tensor) -> Tensor:
    """`x`, as float32 if it has 16 bits because of autocast: losses and ranks need more digits."""
    return x.float() if x.dtype.itemsize < 4 else x


def mixture_loss(
    log_p: Tensor,
    posterior: Posterior | PairPosterior,
    targets: Tensor,
    loss: Literal["marginal", "expected"],
) -> tuple[Tensor, Tensor | None]:
    """p(y | x) = sum_h p(h | x) p(y | h, x), and the loss of the targets.

    Args:
        log_p: (T, labels), log p(y | h, x) for each structure, or pair of structures, h.
        posterior: over these.
        targets: (B,), -1 if unknown.
        loss: see `ModelConfig`.

    Returns:
        (B, labels) and (B,); the loss is None if a target is unknown.
    """
    p = posterior.expect(log_p.exp())
    if (host_copy(targets) < 0).any():
        return p, None
    instance = posterior.instance
    of_target = log_p.gather(1, targets[instance, None]).squeeze(1)
    if loss == "expected":
        return p, -posterior.expect(of_target)
    return p, -log_expectation(of_target, posterior.weights, instance, posterior.sizes.shape)
