"""Configuration of the conformance kit, and the instances that it draws."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import HealthCheck, settings
from torch import Tensor

from sparsewood.structures.base import Structure
from sparsewood.testing.devices import DEVICES, on_device
from sparsewood.testing.reference import totals
from sparsewood.testing.scores import KINDS, draw_scores

kit_settings = settings(
    deadline=None,
    max_examples=20,
    suppress_health_check=[
        HealthCheck.differing_executors,  # the same tests run in every subclass
        HealthCheck.filter_too_much,  # points at a kink are skipped
        HealthCheck.too_slow,
    ],
)


@dataclass
class Case:
    """A random batch, and all structures of its size."""

    size: int
    scores: Tensor  # (B, *parts)
    theta: Tensor  # (B, P)
    reads: Tensor  # (B, P) bool
    everything: Tensor  # (count, *event)
    columns: Tensor  # (count, P) 0/1, or numbers
    mask: Tensor | None  # (*parts) bool: penalised parts

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.scores.shape[1:])

    def penalised(self, u: Tensor) -> Tensor:
        """(B, P) with zeros at parts without penalty."""
        return u if self.mask is None else u * self.mask.flatten()


class Instances:
    """Set `structure` and `shape`, and the other attributes if their defaults do not fit.

    Instances are drawn for a size `n`. With `has_lengths`, an instance of size `n` occupies the
    leading corner of a larger table of scores, as given by `lengths`.
    """

    structure: ClassVar[Structure]
    sizes: ClassVar[tuple[int, int]] = (1, 4)  # smallest and largest size to draw
    has_lengths: ClassVar[bool] = False
    has_empty: ClassVar[bool] = False  # whether a structure has no parts

    @pytest.fixture(scope="class", autouse=True, params=DEVICES)
    @classmethod
    def _on_every_device(cls, request: pytest.FixtureRequest) -> Iterator[None]:
        if request.param != "cpu" and cls.structure.native is None:
            pytest.skip("an oracle in Python may support only the CPU")
        with on_device(request.param):
            yield

    @staticmethod
    def shape(n: int) -> tuple[int, ...]:
        """The shape of the scores of an instance of size `n`, without the batch."""
        raise NotImplementedError

    @staticmethod
    def size(n: int) -> tuple[int, ...]:
        """The arguments of `count` and `enumerate` for an instance of size `n`."""
        return (n,)

    @staticmethod
    def length(n: int) -> tuple[int, ...]:
        """The entry of `lengths` for an instance of size `n`: one number or several."""
        return (n,)

    @staticmethod
    def fit(scores: Tensor) -> Tensor:
        """Drawn scores (B, *parts) of any sign as scores that the family takes, such as costs."""
        return scores

    def draw_scores(self, kind: str, batch: int, shape: tuple[int, ...], seed: int) -> Tensor:
        """`sparsewood.testing.draw_scores`, as the family takes them."""
        return self.fit(draw_scores(kind, batch, shape, seed))

    @pytest.fixture(autouse=True)
    def _skip_canonical_weights_of_costs(self, request: pytest.FixtureRequest) -> None:
        if self.structure.costs_only and "canonical" in request.node.name:
            pytest.skip("canonical weights need best structures for scores of any sign")

    def largest(self, most: int) -> int:
        """The largest size with at most `most` structures; if there is none, the smallest."""
        low, high = self.sizes
        few = [n for n in range(low, high + 1) if self.structure.count(*self.size(n)) <= most]
        return max(few, default=low)

    def lengths(self, *sizes: int) -> Tensor:
        """(B,), or (B, d), for instances of these sizes."""
        lengths = torch.tensor([self.length(n) for n in sizes])
        return lengths.squeeze(1) if lengths.shape[1] == 1 else lengths

    def draw(
        self,
        data: st.DataObject,
        kinds: Sequence[str] = KINDS,
        batch: int | None = None,
        largest: int = 100,
    ) -> Case:
        """A batch of instances of one size, each with at least one structure."""
        low, high = self.sizes
        n = data.draw(st.integers(low, max(low, min(high, largest))))
        batch = data.draw(st.integers(1, 3)) if batch is None else batch
        kind = data.draw(st.sampled_from(kinds))
        seed = data.draw(st.integers(0, 2**32 - 1))
        scores = self.draw_scores(kind, batch, self.shape(n), seed)
        everything = self.structure.enumerate(*self.size(n))
        columns = self.structure.indicator(everything, self.shape(n)).flatten(1)
        dead = totals(scores.flatten(1), columns).amax(-1) == -torch.inf
        scores[dead] = scores[dead].nan_to_num(neginf=0.0)
        reads = self.structure.reads(scores).flatten(1)
        return Case(
            n,
            scores,
            scores.flatten(1),
            reads,
            everything,
            columns,
            self.structure.penalised(scores),
        )
