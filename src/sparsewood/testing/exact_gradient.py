"""The exact gradient of an expected loss, by enumeration: the reference for estimators."""

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from sparsewood._internal.numbers import check_real
from sparsewood.inference._check import check_finite, check_input, no_structure_left
from sparsewood.posterior import Posterior
from sparsewood.structures.base import NativeStructure, Structure
from sparsewood.testing.reference import affine_rank, project

Distribution = Literal["gibbs", "sparsemap"]

_TIE = 1e-9  # scores with a smaller relative difference count as equal


class Exact(NamedTuple):
    """An expected loss and its gradient."""

    value: Tensor  # (*batch,)
    gradient: Tensor  # (*batch, *parts)


def exact_gradient(
    scores: Tensor,
    structure: Structure,
    loss: Callable[[Tensor], Tensor],
    distribution: Distribution = "gibbs",
    *,
    size: tuple[int, ...] | None = None,
    temperature: float = 1.0,
    support: Posterior | None = None,
) -> Exact:
    r"""`E_{h ~ p}[loss(m(h))]` and its gradient in the scores, by enumeration (small sizes only).

    With `theta = scores / temperature` and the parts `m(h)` as columns of `M`, `p` is

        gibbs:      softmax(M^T theta)
        sparsemap:  argmax_{p in simplex} <theta, M p> - 1/2 ||D M p||^2

    The probabilities of SparseMAP on their support S solve the linear system
    `[M_S^T D M_S, 1; 1^T, 0] [p_S; c] = [M_S^T theta; 1]`, through which the gradient is computed.
    The support comes from the projection `reference.project`, and is checked to be optimal among
    all structures. No oracle, recursion or solver of the library is used.

    Args:
        scores: (*batch, *parts), floating; instances of full size. -inf forbids a part.
        structure: a family with `enumerate`.
        loss: (T, *parts) in the dtype of the scores -> (T,), the loss of each structure.
        distribution: "gibbs" or "sparsemap".
        size: arguments of `structure.enumerate`. Default: the full size of an instance, which does
            not suffice for families with states or labels.
        temperature: scores are divided by it.
        support: for "sparsemap", a posterior of the same batch, whose structures are used as the
            support if it is not unique. They must be optimal.

    Returns:
        The value (*batch,) and the gradient (*batch, *parts), in the dtype of the scores.

    Raises:
        ValueError: bad input; an instance without a structure; `support` is missing although the
            probabilities of SparseMAP are not unique or some parts carry no penalty.
    """
    batch, flat, _ = check_input(scores, structure, None)
    check_real("temperature", temperature, positive=True)
    if distribution not in get_args(Distribution):
        raise ValueError(f'distribution must be "gibbs" or "sparsemap", got {distribution!r}')
    if support is not None and support.sizes.shape != batch.shape:
        raise ValueError(
            f"support: expected a posterior with batch shape {tuple(batch.shape)}, "
            f"got {tuple(support.sizes.shape)}"
        )
    columns = _everything(flat, structure, size)
    values, gradients = [], []
    with batch:
        check_finite(flat, structure.reads(flat))
        for i, row in enumerate(flat.detach()):
            usable = columns[~(columns.bool() & (row == -torch.inf)).flatten(1).any(-1)]
            if len(usable) == 0:
                raise no_structure_left(i, flat)
            theta = torch.where(usable.any(0), row, 0.0).double().requires_grad_()
            warm = theta.flatten() / temperature
            with torch.enable_grad():
                if distribution == "gibbs":
                    taken, p = usable, (usable.flatten(1) @ warm).softmax(-1)
                else:
                    mask = structure.penalised(flat)
                    own = None if support is None else _columns_of(support, i, structure)
                    taken = _support(warm.detach(), usable, mask, own, i)
                    p = _weights(warm, taken.flatten(1), mask)
                value = p @ _losses(loss, taken.to(flat.dtype))
                (gradient,) = torch.autograd.grad(value, theta)
            values.append(value.detach())
            gradients.append(gradient)
    found = Exact(flat.new_zeros(0), flat) if len(flat) == 0 else Exact(*_stack(values, gradients))
    return Exact(*(batch.restore(table.to(flat.dtype)) for table in found))


def _stack(*tables: list[Tensor]) -> tuple[Tensor, ...]:
    return tuple(torch.stack(rows) for rows in tables)


def _everything(scores: Tensor, structure: Structure, size: tuple[int, ...] | None) -> Tensor:
    """The parts of all structures, (count, *parts)."""
    shape = tuple(scores.shape[1:])
    if size is None:
        size = structure.full_size(shape) if isinstance(structure, NativeStructure) else shape[:1]
    try:
        everything = structure.enumerate(*size)
    except TypeError as error:
        raise ValueError(f"size: {structure}.enumerate does not accept {size}: {error}") from None
    columns = structure.indicator(everything.to(scores.device), shape)
    if columns.shape[1:] != shape:
        raise ValueError(f"size: expected parts {shape}, {size} gives {tuple(columns.shape[1:])}")
    return columns


def _losses(loss: Callable[[Tensor], Tensor], parts: Tensor) -> Tensor:
    """(T,) float64"""
    with torch.no_grad():
        losses = loss(parts)
    if not isinstance(losses, Tensor) or losses.shape != parts.shape[:1]:
        got = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
        raise ValueError(f"loss: expected shape ({len(parts)},), one per structure, got {got}")
    return losses.double()


def _columns_of(support: Posterior, i: int, structure: Structure) -> Tensor:
    """The parts of the structures of instance `i` of a posterior."""
    return structure.indicator(support[i].structures, support.shape)


def _weights(theta: Tensor, columns: Tensor, mask: Tensor | None) -> Tensor:
    """The optimal weights (S,) of columns (S, P), which sum to 1 and may be negative."""
    counted = columns if mask is None else columns * mask.flatten()
    one = columns.new_ones(len(columns), 1)
    corner = columns.new_zeros(1, 1)
    system = torch.cat([torch.cat([counted @ counted.T, one], 1), torch.cat([one.T, corner], 1)])
    return torch.linalg.solve(system, torch.cat([columns @ theta, one[0]]))[:-1]


def _support(
    theta: Tensor, usable: Tensor, mask: Tensor | None, own: Tensor | None, instance: int
) -> Tensor:
    """The columns (S, *parts) of the support, certified against all `usable` columns."""
    everything = usable.flatten(1)
    tie = _TIE * float(1 + theta.abs().amax())
    if own is None:
        if mask is not None:
            raise ValueError("support: expected a posterior if parts carry no penalty, got None")
        slope = theta - project(theta, everything)
        potential = everything @ slope
        own = usable[potential >= potential.amax() - tie]
        if affine_rank(own.flatten(1)) < len(own) - 1:
            raise ValueError(
                f"instance {instance}: the probabilities of SparseMAP are not unique, "
                "pass a posterior with the intended structures as `support`"
            )
        own = own[_weights(theta, own.flatten(1), mask) > tie]
    columns = own.flatten(1)
    if affine_rank(columns if mask is None else columns[:, mask.flatten()]) < len(columns) - 1:
        raise ValueError(f"support: the structures of instance {instance} are affinely dependent")
    weights = _weights(theta, columns, mask)
    u = weights @ columns
    slope = theta - (u if mask is None else u * mask.flatten())
    if bool((weights < -tie).any()) or float((everything @ slope).amax() - u @ slope) > tie:
        raise ValueError(f"support: the structures of instance {instance} are not optimal")
    return own
