"""SparseMAP at every temperature."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood._internal.batch import name_instance
from sparsewood._internal.numbers import check_real
from sparsewood.calls import count
from sparsewood.inference._check import check_input
from sparsewood.inference._oracle_check import check_maximises
from sparsewood.inference._path import PathFollower
from sparsewood.inference.generic import ask_together, questions
from sparsewood.posterior import Posterior
from sparsewood.status import UnconvergedError
from sparsewood.structures.base import Structure

_ZERO = 1e-13  # a weight below this is rounding


class Segment(NamedTuple):
    """An interval of temperatures with constant support: K affinely independent structures.

    The weights are linear in 1 / temperature between the two ends. A structure that enters or
    leaves at an end has weight 0 there.
    """

    begin: float  # the lower temperature; 0: the weights are constant below `end`
    end: float
    support: Tensor  # (K,) int64, indices into `TemperaturePath.structures`
    weights: Tensor  # (2, K) float64, at `begin` and at `end`


@dataclass(frozen=True, eq=False, repr=False)
class TemperaturePath:
    """The SparseMAP posterior of one instance as a function of the temperature.

    Attributes:
        structure: the family of structures.
        structures: (N, *event) int64, all structures on the path, in the order in which they enter.
        segments: from temperature 0 upwards; each begins where the previous one ends.
        shape: the shape of the instance's parts, `*parts`.
        lengths: the size of the instance, () or (d,) int64; None: full size.
        calls: number of calls of the MAP oracle.
    """

    structure: Structure
    structures: Tensor
    segments: tuple[Segment, ...]
    shape: tuple[int, ...]
    lengths: Tensor | None
    calls: int

    @property
    def temperatures(self) -> Tensor:
        """(segments + 1,) float64, increasing from 0: the breakpoints and the end of the path."""
        ends = [segment.end for segment in self.segments]
        return torch.tensor([0.0, *ends], dtype=torch.float64)

    @property
    def sizes(self) -> Tensor:
        """(segments,) int64: the number of structures of each segment."""
        return torch.tensor([len(segment.support) for segment in self.segments])

    def at(self, temperature: float) -> Posterior:
        """The posterior at a temperature from 0 (the limit) to the last; its batch shape is ()."""
        t = check_real("temperature", temperature)
        last = self.segments[-1].end
        if t > last:
            raise ValueError(f"temperature: expected at most {last}, the end of the path, got {t}")
        segment = next(segment for segment in self.segments if t <= segment.end)
        weights = _between(segment, t)
        stay = weights > 0
        index = segment.support[stay.to(segment.support.device)]
        return Posterior(
            self.structure,
            self.structures[index],
            weights[stay].to(self.structures.device),
            torch.tensor(len(index), device=self.structures.device),
            self.shape,
            self.lengths,
        )

    def __repr__(self) -> str:
        sizes = self.sizes.tolist()
        return (
            f"TemperaturePath({self.structure}, {len(sizes)} segments from {sizes[0]} to "
            f"{sizes[-1]} structures at temperature {self.segments[-1].end:g})"
        )


def _between(segment: Segment, t: float) -> Tensor:
    """The weights at a temperature of the segment: linear in 1 / t."""
    low, high = segment.weights
    if segment.begin == 0:  # constant
        return high
    share = (1 / segment.begin - 1 / t) / (1 / segment.begin - 1 / segment.end)
    return low + share * (high - low)


def temperature_path(
    scores: Tensor,
    structure: Structure,
    *,
    lengths: Tensor | None = None,
    temperature: float = 1.0,
) -> TemperaturePath | list[TemperaturePath]:
    """SparseMAP at every temperature from 0 to `temperature`, exactly.

    `q*` of `sparsemap` is piecewise linear in 1 / temperature. The path begins with the MAP
    structure and proceeds from one breakpoint, where a structure enters or leaves, to the next. The
    MAP oracle certifies each breakpoint, so none between them is missed. If the weights are not
    unique, a structure that leaves may be replaced by another one at the same temperature.

    The number of structures need not grow with the temperature. For dependency trees of 10 to 40
    words with normally distributed scores it falls at one in four to twenty breakpoints.

    Args:
        scores: (*batch, *parts), floating; as for `sparsemap`. Scores that differ by less than
            about 1e-10 of their range count as equal.
        structure: the family of structures, native or not.
        lengths: (*batch,) or (*batch, d), the size of each instance; as for `sparsemap`.
        temperature: the end of the path, a positive number.

    Returns:
        A `TemperaturePath` for scores without batch dimensions; otherwise a list of them, one per
        instance of the flattened batch. Without gradients: use `sparsemap` at one temperature.

    Raises:
        ValueError: as for `sparsemap`.
        UnconvergedError: the path could not be followed to its end. This has not been observed; it
            might happen if very many structures tie at one temperature.

    Example:
        >>> scores = torch.tensor([[1.5, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> path = sp.temperature_path(scores, sp.DependencyTrees())
        >>> path.temperatures.tolist(), path.sizes.tolist()
        ([0.0, 0.75, 1.0], [1, 2])
        >>> path.at(1.0).weights
        tensor([0.8750, 0.1250], dtype=torch.float64)
    """
    batch, scores, lengths = check_input(scores, structure, lengths)
    end = check_real("temperature", temperature, positive=True)
    scores = scores.detach()
    with batch:
        ends = torch.full(scores.shape[:1], end, dtype=torch.float64, device=scores.device)
        asked = questions(scores, structure, lengths, ends)
        tables = asked.tables()
        paths = [PathFollower(table.theta, table.penalised, 1.0) for table in tables]
        if paths:
            runs = [path.follow() for path in paths]
            ask_together(runs, [table.allowed for table in tables], asked)
            pairs = zip(paths, tables, strict=True)
            ended = [path.ended(table.allowed, structure.binary) for path, table in pairs]
            check_maximises(structure, scores.shape[1:], asked.oracle, ended)
        for b, path in enumerate(paths):
            if path.stalled:
                raise UnconvergedError(
                    f"temperature_path: {name_instance(b, len(paths))} stalled at temperature "
                    f"{end / path.s:.3g}"
                )
    extra = int(not structure.binary)  # a call for the unit of the parts
    count("map", torch.tensor([path.calls + extra for path in paths], dtype=torch.int64))
    found = [
        _collect(path, end, structure, scores, None if lengths is None else lengths[b])
        for b, path in enumerate(paths)
    ]
    return found if batch.shape else found[0]


def _collect(
    path: PathFollower,
    temperature: float,
    structure: Structure,
    scores: Tensor,
    lengths: Tensor | None,
) -> TemperaturePath:
    """Convert a path in `s = temperature / t` to a path in t."""
    known: dict[tuple[int, ...], int] = {}
    structures: list[Tensor] = []
    segments: list[Segment] = []
    for one in path.segments:
        index = []
        for h in one.structures:
            key = tuple(h.flatten().tolist())
            if key not in known:
                known[key] = len(structures)
                structures.append(h)
            index.append(known[key])
        ends = torch.tensor([one.begin, one.end], dtype=torch.float64)
        weights = ends[:, None] * one.slope + one.offset
        weights = torch.where(weights > _ZERO, weights, 0)
        if not segments:
            weights[0] = weights[1]
        begin = segments[-1].end if segments else 0.0
        at = torch.tensor(index, device=scores.device)
        segments.append(Segment(begin, temperature / one.end, at, weights))
    return TemperaturePath(
        structure,
        torch.stack(structures).to(scores.device),
        tuple(segments),
        tuple(scores.shape[1:]),
        lengths,
        path.calls,
    )
