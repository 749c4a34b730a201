"""Canonical weights by enumeration: linear programs instead of an oracle."""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linprog
from torch import Tensor

_ZERO = 1e-9  # weights and reduced costs below this are rounding: columns are 0/1
_PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def pulled(columns: Tensor, u: Tensor, w: Tensor, counted: Tensor | None = None) -> Tensor:
    """The canonical weights (count,) of all structures, `columns` (count, P) 0/1, for marginals u.

    The pulling triangulation: among all distributions with these marginals, the one with the most
    weight on the structure that maximises `w` (P,); among these, the most on the next; and so
    on. Structures whose weight must be 0, by the reduced costs of a program, are excluded from
    later programs.

    Args:
        columns: of every structure that uses no forbidden part.
        u: (P,) marginals, right to 1e-12 or so.
        w: (P,) of `preferences`, flat.
        counted: (P,) bool, the parts whose marginals must be met. Default: all. Where parts go
            without a penalty: the others, and `columns` of the structures that are optimal alone.
    """
    rows = columns if counted is None else columns[:, counted]
    goal = u if counted is None else u[counted]
    table = np.vstack([rows.T.numpy(), np.ones(len(rows))])
    total = np.append(goal.numpy(), 1.0)
    likes = columns @ w
    assert len(likes.unique()) == len(likes), "two structures that w likes the same"
    left = ~((rows > 0) & (goal < _ZERO)).any(-1).numpy()
    chosen: list[int] = []
    rest = total
    for h in likes.argsort(descending=True).tolist():
        if not left[h]:
            continue
        index = left.nonzero()[0]
        weight, q, cost = _most(table[:, index], rest, int((index == h).nonzero()[0][0]))
        left[index[cost > _ZERO]] = left[h] = False
        rest = table[:, index] @ q  # the part that was met exactly
        if weight > _ZERO:
            chosen.append(h)
            rest = rest - weight * table[:, h]
        if rest[-1] < _ZERO:
            break
    q, *_ = np.linalg.lstsq(table[:, chosen], total, rcond=None)
    assert np.abs(table[:, chosen] @ q - total).max() < _ZERO
    assert (q > 0).all()
    return torch.zeros(len(columns), dtype=torch.float64).index_put(
        (torch.tensor(chosen),), torch.from_numpy(q)
    )


def _most(
    table: NDArray[np.float64], total: NDArray[np.float64], h: int
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """The maximum of q_h over `q >= 0` with `table q = total`; such a q; reduced costs."""
    objective = np.zeros(table.shape[1])
    objective[h] = -1.0
    found = linprog(
        objective, A_eq=table, b_eq=total, bounds=(0, None), method="highs-ds", options=_PRECISE
    )
    assert found.status == 0, found.message
    q = found.x.clip(min=0)
    return float(q[h]), q, found.lower.marginals
