"""Names of the words, columns and labels in a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from sparsewood.structures.base import NativeStructure

if TYPE_CHECKING:
    from sparsewood.posterior import Posterior

Given = Tensor | Sequence[int] | Sequence[Sequence[int]]


@dataclass(frozen=True)
class Names:
    """The names given by the caller; None: use numbers, as the family counts.

    Attributes:
        words: the words, items or rows.
        other: the columns of a matching or an alignment.
        labels: the labels or tags, in the order of their scores.
        given: a structure to compare with, in the encoding of the family.
    """

    words: Sequence[str] | None = None
    other: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    given: Given | None = None


def size_of(post: Posterior) -> tuple[int, ...]:
    """The size of the one instance of a posterior: words, items, or rows and columns."""
    if isinstance(post.structure, NativeStructure):
        return tuple(post.structure.size_of(post.marginals, post.lengths)[0].tolist())
    if post.lengths is not None:
        return tuple(post.lengths[0].reshape(-1).tolist())
    return post.shape


def named(
    names: Sequence[str] | None, n: int, what: str, first: int = 0, call: str = "show"
) -> tuple[str, ...]:
    """`n` names, or the numbers from `first` on; `call` names the caller in messages."""
    if names is None:
        return tuple(map(str, range(first, first + n)))
    found = tuple(names)
    if isinstance(names, str) or any(not isinstance(name, str) for name in found):
        raise TypeError(f"{call}: {what}: expected a sequence of strings, got {names!r}")
    if len(found) != n:
        raise ValueError(f"{call}: {what}: expected {n} names, got {len(found)}")
    return found


def labels_of(numbers: Tensor, labels: Sequence[str], what: str) -> tuple[str, ...]:
    """The label of each number (n,), or ValueError."""
    found: list[int] = numbers.tolist()
    for i, number in enumerate(found):
        if not 0 <= number < len(labels):
            raise ValueError(f"{what}: label {number} at {i}, expected 0 to {len(labels) - 1}")
    return tuple(labels[number] for number in found)


def given_rows(post: Posterior, given: Given | None, n: int) -> Tensor | None:
    """The given structure, an event (n, ...) of the family, without padding beyond n."""
    return None if given is None else given_event(given, (n, *post.structures.shape[2:]))


def given_event(given: Given, event: tuple[int, ...], call: str = "show") -> Tensor:
    """A given structure cut to the shape `event`, or ValueError; padding beyond must be -1."""
    n = event[0]
    try:
        table = torch.as_tensor(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{call}: given: expected {event} integers, got {given!r}") from error
    if table.shape[1:] != event[1:] or table.ndim == 0 or len(table) < n or (table[n:] != -1).any():
        raise ValueError(f"{call}: given: expected {event}, got {tuple(table.shape)}")
    return table[:n]


def parts_of(post: Posterior) -> list[list[tuple[int, ...]]]:
    """The indices of the parts that each structure uses, in the order of the scores."""
    return [[tuple(index) for index in one.nonzero().tolist()] for one in post.parts]
