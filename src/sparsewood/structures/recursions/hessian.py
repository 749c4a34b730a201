"""Second derivatives of log-partition functions by autograd, themselves differentiable."""

from collections.abc import Callable

import torch
from torch import Tensor


def hessian_product(
    log_sums: Callable[[Tensor], Tensor], scores: Tensor, direction: Tensor
) -> Tensor:
    """The second derivative of `log_sums(scores)`, (B,), times `direction`, shaped as `scores`."""
    further = torch.is_grad_enabled()
    with torch.enable_grad():
        (marginals,) = torch.autograd.grad(log_sums(scores).sum(), scores, create_graph=True)
        if not marginals.requires_grad:  # there is only one structure: the log-sum is linear
            marginals = marginals + 0.0 * scores
        (product,) = torch.autograd.grad(marginals, scores, direction, create_graph=further)
    return product
