"""One random input: scores with options, and reference results."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tests.fuzz.family import Family, Size
from tests.fuzz.members import Instance, Long, Longs
from tests.fuzz.values import (
    LARGEST,
    Rng,
    draw_dtype,
    draw_layout,
    draw_scores,
    draw_temperature,
    lay_out,
)

_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


class BrokenError(Exception):
    """A failed check: `kind` groups failures, `detail` describes this one."""

    def __init__(self, kind: str, detail: object = "") -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


@dataclass
class Case:
    """A batch.

    Attributes:
        family: the family of structures.
        outer: the size that fills the scores.
        inner: the size of each instance.
        kinds: how the scores of each instance were drawn.
        scores: (B, *parts), any strides; `base` is the memory behind them.
        lengths: in the format of the family, or None.
        temperature: as given.
        wrong: why the input must be rejected; None: it is valid.
    """

    family: Family
    rng: Rng
    outer: Size
    inner: list[Size]
    kinds: list[str]
    scores: Tensor
    base: Tensor
    lengths: Tensor | None
    temperature: float | Tensor
    wrong: str | None

    def __post_init__(self) -> None:
        self._before = self._bits()
        if self.wrong is None:
            self.wrong = self._why_refused()

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def epsilon(self) -> float:
        return torch.finfo(self.scores.dtype).eps

    @property
    def smallest(self) -> float:
        """The smallest number of the dtype; smaller numbers may be 0."""
        return torch.finfo(self.scores.dtype).smallest_normal * self.epsilon

    @cached_property
    def flat(self) -> NDArray[np.float64]:
        """(B, P) the scores in the tensor."""
        return self.scores.detach().double().flatten(1).numpy()

    @cached_property
    def temperatures(self) -> NDArray[np.float64]:
        """(B,)"""
        if isinstance(self.temperature, Tensor):
            return self.temperature.detach().double().expand(len(self)).numpy()
        return np.full(len(self), self.temperature)

    @cached_property
    def theta(self) -> Longs:
        """(B, P) scores / temperature, rounded to float64 as in the library."""
        return (self.flat / self.temperatures[:, None]).astype(Long)

    @cached_property
    def reads(self) -> NDArray[np.bool_]:
        """(B, P)"""
        rows = [reads(self.family.name, inner, self.outer) for inner in self.inner]
        return np.stack(rows) if rows else np.zeros((0, self.flat.shape[1]), bool)

    @cached_property
    def instances(self) -> list[Instance]:
        return [self.instance(b, self.theta[b]) for b in range(len(self))]

    def instance(self, b: int, theta: Longs) -> Instance:
        members = self.family.members(self.inner[b], self.outer)
        return Instance(members, theta, self.reads[b])

    def check_untouched(self) -> None:
        if any(not np.array_equal(a, b) for a, b in zip(self._before, self._bits(), strict=True)):
            raise BrokenError("writes to its input")

    def _bits(self) -> list[NDArray[np.int64]]:
        """The memory of the input, in which NaN equals itself."""
        given = [self.base, self.lengths, self.temperature]
        tensors = [x.detach() for x in given if isinstance(x, Tensor)]
        return [x.view(_BITS[x.element_size()]).numpy().copy() for x in tensors]

    def _why_refused(self) -> str | None:
        seen = np.where(self.reads, self.flat, 0.0)
        if np.isnan(seen).any():
            return "NaN"
        if (seen == np.inf).any():
            return "+inf"
        # A longdouble can represent values that overflow to -inf in float64.
        exact = self.flat.astype(Long) / self.temperatures[:, None].astype(Long)
        if (np.abs(exact[self.reads & (self.flat != -np.inf)]) > LARGEST).any():
            return "magnitudes beyond 1e200"
        if not all(one.usable.any() for one in self.instances):
            return "no structure left"
        return None


@cache
def reads(name: str, inner: Size, outer: Size) -> NDArray[np.bool_]:
    """(P,) the parts of an instance that the family reads, at least all that it uses."""
    from tests.fuzz.families import FAMILIES

    family = FAMILIES[name]
    table = torch.zeros(1, *family.shape(*outer))
    lengths = make_lengths(family, [inner]) if inner != outer else None
    found = family.structure.reads(table, lengths).reshape(-1).numpy().copy()
    assert found[family.members(inner, outer).used.any(0)].all(), "a part is used but never read"
    return found


def make_lengths(family: Family, sizes: list[Size]) -> Tensor:
    """(B,), or (B, d)."""
    rows = torch.tensor([size[: family.lengths] for size in sizes], dtype=torch.int64)
    rows = rows.reshape(len(sizes), family.lengths)
    return rows.squeeze(1) if family.lengths == 1 else rows


def draw_case(rng: Rng, family: Family, *, tempered: bool) -> Case:
    """A batch of `family`; with a temperature where the call takes one."""
    batch = int(rng.choice([0, 1, 2, 3], p=[0.02, 0.38, 0.3, 0.3]))
    outer = family.sizes[rng.integers(len(family.sizes))]
    layout, dtype = draw_layout(rng), draw_dtype(rng)
    inner, lengths = [outer] * batch, None
    if family.lengths and rng.random() < 0.4:
        fitting = [size for size in family.sizes if family.fits(size, outer)]
        inner = [fitting[rng.integers(len(fitting))] for _ in inner]
        if layout == "expanded":
            inner = inner[:1] * batch
        lengths = make_lengths(family, inner)
        if rng.random() < 0.3:
            lengths = lengths.to(torch.int32)
    shape = family.shape(*outer)
    kinds, values = draw_scores(rng, batch, shape)
    values = family.fit(values)
    if layout == "expanded":
        kinds, values = kinds[:1] * batch, np.broadcast_to(values[:1], values.shape).copy()
    garbage = rng.choice([np.nan, np.inf, 1e300, 7.0], p=[0.7, 0.1, 0.1, 0.1])
    for b, size in enumerate(inner):
        values[b].reshape(-1)[~reads(family.name, size, outer)] = garbage
    with np.errstate(over="ignore"):
        scores, base = lay_out(torch.from_numpy(values).to(dtype), layout)
    temperature, wrong = draw_temperature(rng, batch) if tempered else (1.0, None)
    return Case(family, rng, outer, inner, kinds, scores, base, lengths, temperature, wrong)
