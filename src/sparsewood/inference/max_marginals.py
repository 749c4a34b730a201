"""Max-marginals: for every part, the score of the best structure that uses it."""

import torch
from torch import Tensor

from sparsewood._internal.numbers import within_reach
from sparsewood.calls import count
from sparsewood.inference._check import (
    check_any_sign,
    check_input,
    check_values,
    no_structure_left,
)
from sparsewood.structures.base import Structure
from sparsewood.structures.oracle_error import OracleError

_PARTS = 2**22  # scores passed to the oracle at once
_DOUBLINGS = 100


def max_marginals(scores: Tensor, structure: Structure, *, lengths: Tensor | None = None) -> Tensor:
    r"""For each part `p`, the score of the best structure that uses it:

        max_{h : m(h)[p] = 1}  <scores, m(h)>

    The largest max-marginal of an instance is the score of its MAP structure; the difference to it
    is the cost of requiring a part. If parts are numbers, `m(h)[p] = 1` reads: `m(h)[p]` is the
    largest that any structure has, and positive. For `Rankings` that is an item in the last place.

    Chains take one forward and one backward pass. For other families the MAP oracle is called once,
    and once more for each part that the MAP structure does not use, with the score of that part
    raised above all others: O(parts) oracle calls. If parts are numbers it takes some more.

    Args:
        scores: (*batch, *parts), floating; as for `sparsemap`.
        structure: the family of structures; only its MAP oracle is used.
        lengths: (*batch,) or (*batch, d), the size of each instance; as for `sparsemap`.

    Returns:
        (*batch, *parts) in the dtype of `scores`, summed in float64; -inf for parts that no
        structure uses, such as padding and forbidden parts. A subgradient of the entry of part `p`
        is `m(h)`, the parts of the structure found for it.

    Raises:
        ValueError: as for `sparsemap`.

    Example:
        >>> scores = torch.tensor([[[3.0, 1.0], [2.0, 2.5]]])
        >>> sp.max_marginals(scores, sp.Matching()).tolist()  # 3 + 2.5, or 1 + 2
        [[[5.5, 3.0], [3.0, 5.5]]]
    """
    batch, scores, lengths = check_input(scores, structure, lengths)
    check_any_sign("max_marginals", structure)
    if len(scores) == 0:
        return batch.restore(scores.clone())
    with batch:
        reads = structure.reads(scores, lengths)
        check_values(scores.detach(), reads)
        table = torch.where(reads, scores, -torch.inf).double()
        best = structure.max_marginals(table, lengths)
        if best is None:
            by_oracle = _by_oracle if structure.binary else _most_of_each
            best = by_oracle(table, structure, lengths)
        else:
            count("map", len(table))
            _check_any(best.detach().flatten(1).amax(-1), scores)
    return batch.restore(best.to(scores.dtype))


def _by_oracle(table: Tensor, structure: Structure, lengths: Tensor | None) -> Tensor:
    """Max-marginals of scores (B, *parts) float64, -inf at parts that are not read."""
    shape, values = table.shape[1:], table.detach()
    everyone = torch.arange(len(table), device=table.device)
    first = _ask(values, everyone, structure, lengths)
    totals = [_totals(table, everyone, first)]
    _check_any(totals[0].detach(), table)
    used = first.reshape(table.shape).bool()
    asked = (values != -torch.inf) & ~used
    rows, parts = asked.flatten(1).nonzero().unbind(1)
    sizes = torch.where(values == -torch.inf, 0.0, values.abs()).flatten(1).sum(-1)
    bonus = torch.where(sizes > 0, 2 * sizes, 1.0)  # two structures differ by at most `sizes`
    answered = [used.new_zeros(0)]
    at_once = max(1, _PARTS // shape.numel())
    for start in range(0, len(rows), at_once):
        own, part = (table[start : start + at_once] for table in (rows, parts[:, None]))
        raised = values[own].flatten(1).scatter_add(1, part, bonus[own, None])
        found = _ask(raised.unflatten(1, shape), own, structure, lengths)
        answered.append(found.gather(1, part)[:, 0] > 0)
        totals.append(_totals(table, own, found))
    each = torch.cat(totals)
    which = everyone.view(-1, *[1] * len(shape)).expand_as(used)  # row of `each` for a part
    which = which.masked_scatter(asked, len(table) + torch.arange(len(rows), device=table.device))
    there = used.masked_scatter(asked, torch.cat(answered)) & each.detach().isfinite()[which]
    return torch.where(there, each[which], -torch.inf)


def _most_of_each(table: Tensor, structure: Structure, lengths: Tensor | None) -> Tensor:
    """`_by_oracle` for parts that are numbers.

    The score of a part alone gives its largest value; a bonus is doubled until the best structure
    reaches that value. Among the structures that do, it is then the best, whatever the bonus.
    """
    values, shape = table.detach(), table.shape[1:]
    everyone = torch.arange(len(table), device=table.device)
    _check_any(_totals(values, everyone, _ask(values, everyone, structure, lengths)), table)
    rows, parts = (values != -torch.inf).flatten(1).nonzero().unbind(1)
    at_once = max(1, _PARTS // shape.numel())
    totals = [table.new_zeros(0)]
    for start in range(0, len(rows), at_once):
        own, part = (x[start : start + at_once] for x in (rows, parts[:, None]))

        def best(
            scores: Tensor, some: Tensor, bonus: Tensor, own: Tensor = own, part: Tensor = part
        ) -> Tensor:
            raised = scores[some].scatter_add(1, part[some], bonus[some, None])
            return _ask(raised.unflatten(1, shape), own[some], structure, lengths)

        plain = values[own].flatten(1)
        alone = torch.where(plain == -torch.inf, plain, 0.0)
        rest = torch.arange(len(own), device=own.device)
        most = best(alone, rest, torch.ones_like(plain[:, 0])).gather(1, part)[:, 0]
        bonus = torch.where(plain.isfinite(), plain.abs(), 0).amax(-1)
        bonus = torch.where(bonus > 0, bonus, 1.0)
        found = torch.zeros_like(plain)
        for _ in range(_DOUBLINGS):
            found[rest] = best(plain, rest, bonus)
            rest = rest[found[rest].gather(1, part[rest])[:, 0] < most[rest]]
            if len(rest) == 0:
                break
            bonus[rest] *= 2
        totals.append(torch.where(most > 0, _totals(table, own, found), -torch.inf))
    nothing = torch.full_like(values, -torch.inf).flatten(1)
    return nothing.index_put((rows, parts), torch.cat(totals)).reshape(table.shape)


def _ask(values: Tensor, rows: Tensor, structure: Structure, lengths: Tensor | None) -> Tensor:
    """The parts (R, P) of the best structures for scores (R, *parts) of the instances `rows`."""
    count("map", len(rows))
    try:
        found = structure.argmax(within_reach(values), None if lengths is None else lengths[rows])
        return structure.indicator(found, tuple(values.shape[1:])).flatten(1)
    except OracleError as error:
        raise error.renumbered(rows) from error.__cause__


def _totals(table: Tensor, rows: Tensor, parts: Tensor) -> Tensor:
    """`<table[rows], parts>`: (B, *parts), (R,) and (R, P) -> (R,).

    Only used scores are gathered, so autograd saves their indices and no table.
    """
    at, part = parts.nonzero().unbind(1)
    used = table.flatten(1)[rows[at], part]
    terms = torch.where(used == -torch.inf, used, used * parts[at, part])
    return table.new_zeros(len(rows)).index_add(0, at, terms)


def _check_any(best: Tensor, scores: Tensor) -> None:
    """Raise ValueError if the best score `best` (B,) of an instance is -inf."""
    if (best == -torch.inf).any():
        raise no_structure_left(int((best == -torch.inf).nonzero()[0]), scores)
