"""A distribution over a few structures of each instance, the result of every estimator."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import torch
from torch import Size, Tensor

from sparsewood._internal import display as _display
from sparsewood._internal.batch import BatchShape
from sparsewood._internal.lazy import CopiedWithGraph, lazy
from sparsewood._internal.numbers import check_dense, check_whole
from sparsewood._internal.support import expectation, instances, sum_by_instance
from sparsewood.forest import Forest
from sparsewood.pairs import PairPosterior, pair_up
from sparsewood.structures._bipartite import Bipartite
from sparsewood.structures.base import Structure

if TYPE_CHECKING:
    from sparsewood.draw._names import Given
    from sparsewood.draw.drawing import Drawing
    from sparsewood.draw.drawings import Drawings

_SHOWN = 5  # structures listed in the repr of one instance


class Heaviest(NamedTuple):
    """The structures with the largest weights of each instance, in decreasing order."""

    weights: Tensor  # (*batch, k)
    structures: Tensor  # (*batch, k, *event) int64


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(CopiedWithGraph):
    """A distribution over a few structures for each instance of a batch of any shape.

    The supports of all instances are stored flat: `T` structures in total, ordered by instance. The
    batch shape is the shape of `sizes`, () for a single instance. Instances are numbered in the
    flattened batch: `len(post)` counts them, and `post[i]` is the posterior of one instance as a
    batch of one.

    The gradient to the scores flows through `weights`, or through `parts` if an estimator replaces
    them (`with_parts`).

    Attributes:
        structure: the family of structures.
        structures: (T, *event) int64, the support.
        weights: (T,) probabilities of the structures.
        sizes: (*batch,) int64, number of structures of each instance.
        shape: the shape of one instance's parts, `*parts`.
        lengths: int64, the size of each instance, (*batch,) or (*batch, d) depending on the family;
            None: full size.
    """

    structure: Structure
    structures: Tensor
    weights: Tensor
    sizes: Tensor
    shape: tuple[int, ...]
    lengths: Tensor | None = None
    _per_instance: ClassVar[tuple[str, ...]] = ("sizes", "lengths", "_marginals")

    _: KW_ONLY
    _parts: Tensor | None = None  # (T, *parts), if they carry a gradient
    _marginals: Tensor | None = None  # (*batch, *parts), if known

    @classmethod
    def uniform(
        cls,
        structure: Structure,
        structures: Tensor,
        batch: Size,
        shape: tuple[int, ...],
        lengths: Tensor | None,
        dtype: torch.dtype,
    ) -> "Posterior":
        """Equal weights on (T, *event) structures, the same number for each instance."""
        k = len(structures) // max(1, batch.numel())
        sizes = torch.full(batch, k, device=structures.device)
        weights = torch.full(
            structures.shape[:1], 1 / max(1, k), dtype=dtype, device=structures.device
        )
        return Posterior(structure, structures, weights, sizes, shape, lengths)

    def with_parts(self, parts: Tensor) -> Self:
        """The posterior with `parts` (T, *parts) that carry a gradient."""
        if parts.shape != (self.weights.shape[0], *self.shape):
            raise ValueError(
                f"with_parts: expected {(self.weights.shape[0], *self.shape)}, "
                f"got {tuple(parts.shape)}"
            )
        return replace(self, _parts=parts, _marginals=None)

    @property
    def carries_parts(self) -> bool:
        """Whether the gradient to the scores flows through `parts`."""
        return self._parts is not None

    @lazy
    def instance(self) -> Tensor:
        """(T,) int64: the instance of each structure, in increasing order."""
        return instances(self.sizes, self.weights.shape[0])  # len() would be a constant in a graph

    @lazy
    def parts(self) -> Tensor:
        """(T, *parts) in the dtype of `weights`: the parts that each structure uses.

        0/1, or numbers if the family is not `binary`.
        """
        if self._parts is not None:
            return self._parts
        return self._indicator()

    @lazy
    def marginals(self) -> Tensor:
        """(*batch, *parts): the probability of each part, the expectation of `parts`."""
        return self.expect(self.parts) if self._marginals is None else self._marginals

    @lazy
    def mode(self) -> Tensor:
        """(*batch, *event): the structure with the largest weight of each instance."""
        return self._batched(self._some(self._ranking[self._starts]))

    def expect(self, values: Tensor | Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """The expectation of `values` under the posterior, per instance.

        Args:
            values: (T, ...), one entry per structure; or a function `fn(structures, instance)`
                that returns such a tensor.

        Returns:
            (*batch, ...) in the dtype of `values` if that is floating or complex, else in that of
            `weights`. Differentiable with respect to the values and the weights.
        """
        table = values if isinstance(values, Tensor) else values(self.structures, self.instance)
        return expectation(table, self.weights, self.instance, self.sizes.shape)

    def entropy(self) -> Tensor:
        """(*batch,) Shannon entropy of each instance's weights, in nats; differentiable."""
        positive = self.weights > 0  # a weight may underflow to 0 in a 16-bit dtype
        weights = torch.where(positive, self.weights, 1)
        return self._total(-weights * weights.log())

    def log_prob(self, structures: Tensor) -> Tensor:
        """The log-probability of one structure per instance: (*batch, *event) -> (*batch,).

        -inf outside the support. Padding must have the encoding of the family.
        """
        event = self.structures.shape[1:]
        expected = (*self.sizes.shape, *event)
        check_dense("log_prob", structures)
        if structures.shape != expected:
            raise ValueError(f"log_prob: expected {expected}, got {tuple(structures.shape)}")
        flat = structures.to(self.structures.device).reshape(-1, *event)
        same = self.structures == flat[self.instance]
        same = same.unsqueeze(-1).flatten(1).all(-1)  # an event may have no dimension
        weights = self._total(self.weights * same)
        inside = weights > 0
        return torch.where(inside, torch.where(inside, weights, 1).log(), -torch.inf)

    def sample(self, k: int = 1, *, generator: torch.Generator | None = None) -> Tensor:
        """`k` independent samples per instance: (k, *batch, *event)."""
        k = check_whole("sample: k", k)
        weights = self.weights.detach().double()
        share = weights / self._total(weights).flatten()[self.instance]
        # Cumulative weights: instance b covers the interval from b to b + 1.
        draw = torch.rand(k, len(self), dtype=share.dtype, device=share.device, generator=generator)
        draw += torch.arange(len(self), device=share.device)
        index = torch.searchsorted(share.cumsum(0), draw, right=True)
        index = torch.maximum(index, self._starts)  # rounding at the border of two instances
        index = torch.minimum(index, self._starts + self.sizes.flatten() - 1)
        structures = self._some(index.flatten())
        return structures.reshape(k, *self.sizes.shape, *structures.shape[1:])

    def topk(self, k: int) -> Heaviest:
        """The `k` structures with the largest weights: (*batch, k) and (*batch, k, *event).

        If the support is smaller, the remaining entries repeat the mode with weight 0.
        """
        k = check_whole("topk: k", k)
        rank = torch.arange(k, device=self.sizes.device)
        kept = rank < self.sizes.flatten()[:, None]
        index = self._ranking[self._starts[:, None] + torch.where(kept, rank, 0)]
        weights, structures = self.weights[index] * kept, self._some(index)
        return Heaviest(self._batched(weights), self._batched(structures))

    def forest(self) -> Forest:
        """The trees of the support as one shared graph, for `structures` that are heads (T, n).

        Sentences are numbered in the flattened batch. If the parts carry the gradient to the scores
        (`with_parts`), the edges are weighted by the parts of their arcs.
        """
        heads = self.structures
        n = heads.shape[1] if heads.ndim == 2 else 0
        if self.shape != (n, n + 1) or isinstance(self.structure, Bipartite):
            raise ValueError(
                f"forest: expected trees as heads (T, n) for scores (*batch, n, n + 1), got "
                f"structures of shape {tuple(heads.shape)} of {self.structure} for scores of shape "
                f"{(*self.sizes.shape, *self.shape)}"
            )
        lengths = torch.full_like(self.sizes, n) if self.lengths is None else self.lengths
        weights = None
        if self._parts is not None:
            weights = self._parts.gather(-1, heads.clamp(min=0)[..., None]).squeeze(-1)
        return Forest.from_heads(heads, lengths.flatten(), self.instance, weights=weights)

    def product(self, other: "Posterior") -> PairPosterior:
        """The distribution over pairs of a structure here and one of `other`, independent of it.

        For inputs with two latent structures, such as a premise and a hypothesis:

            pairs = premises.product(hypotheses)
            p = pairs.expect(lambda left, right: classify(u[left], v[right]))

        where `u` and `v` hold a vector per structure of the two supports.
        """
        if self.sizes.shape != other.sizes.shape:
            raise ValueError(
                "product: expected posteriors over the same batch, got batches of shape "
                f"{tuple(self.sizes.shape)} and {tuple(other.sizes.shape)}"
            )
        return pair_up(self.weights, self.sizes, other.weights, other.sizes)

    def show(
        self,
        words: Sequence[str] | Sequence[Sequence[str]] | None = None,
        instance: int | None = None,
        given: "Given | None" = None,
        *,
        other: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
    ) -> "Drawing | Drawings":
        """Draw the structures: as text in a terminal, as pictures in a notebook.

        Args:
            words: names of the words of a sentence, items of a set, or rows of a matching or
                alignment; or a list of names per instance. Default: numbers.
            instance: index into the batch. Default: the only instance; the first one if `words` or
                `given` are for one instance; otherwise the whole batch.
            given: a structure to compare with, for dependency trees and taggings.
            other: names of the columns of a matching or an alignment.
            labels: names of the labels or tags, in the order of their scores.
        """
        return _display.show(self, words, instance, given, other=other, labels=labels)

    def __len__(self) -> int:
        return self.sizes.numel()

    def __getitem__(self, i: int) -> Self:
        """The posterior of instance `i` of the flattened batch, as a batch of one."""
        i = self._number(i)
        start, size = int(self._starts[i]), int(self.sizes.flatten()[i])
        tables = {name: getattr(self, name) for name in self._per_instance}
        found = {
            name: one_of(table, self.sizes.shape, i)
            for name, table in tables.items()
            if table is not None
        }
        return replace(self, **found, **self._between(start, start + size))

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return self._describe_one() if len(self) == 1 else self._describe_batch()

    def __str__(self) -> str:
        """A summary, and drawings of the top structures of the first instances."""
        return _display.text(self) or repr(self)

    def _repr_html_(self) -> str | None:
        """For notebooks: drawings of the structures of the first instances."""
        return _display.html(self)

    def _number(self, i: int) -> int:
        """`i` as a nonnegative index, or an IndexError."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"instance {i} of a posterior over {len(self)} instances")
        return i % len(self)

    def _describe_batch(self) -> str:
        head = f"{type(self).__name__}({self.structure}, "
        if self.sizes.ndim != 1:
            head += f"batch {tuple(self.sizes.shape)}, "
        if len(self) == 0:
            return f"{head}0 instances)"
        low, high = int(self.sizes.min()), int(self.sizes.max())
        kept = f"{low}" if low == high else f"{low} to {high}"
        noun = "structure" if high == 1 else "structures"
        return f"{head}{len(self)} instances, {kept} {noun} each{self._how_it_went()})"

    def _describe_one(self) -> str:
        size = int(self.sizes)
        best = self.topk(min(size, _SHOWN))
        lines = [
            f"{type(self).__name__}({self.structure}, {size} structure{'s' * (size != 1)}"
            f"{self._how_it_went()})"
        ]
        structures = best.structures.flatten(0, best.weights.ndim - 1)
        for weight, structure in zip(best.weights.flatten().tolist(), structures, strict=True):
            lines.append(f"  {weight:.4f}  {structure.tolist()}")
        if size > _SHOWN:
            lines.append(f"  ... {size - _SHOWN} more")
        return "\n".join(lines)

    def _how_it_went(self) -> str:
        """The end of the repr."""
        return ""

    def _some(self, index: Tensor) -> Tensor:
        """The structures at an index of any shape: (*index, *event)."""
        return self.structures[index]

    def _indicator(self) -> Tensor:
        """`parts`, if they carry no gradient."""
        return self.structure.indicator(self.structures, self.shape).to(self.weights.dtype)

    def _between(self, start: int, stop: int) -> dict[str, Any]:
        """The fields that have an entry per structure, restricted to some of these."""
        tables = {name: getattr(self, name) for name in ("structures", "weights", "_parts")}
        return {name: table[start:stop] for name, table in tables.items() if table is not None}

    @lazy
    def _starts(self) -> Tensor:
        """(B,) int64: the first structure of each of `B` instances."""
        sizes = self.sizes.flatten()
        return sizes.cumsum(0) - sizes

    @lazy
    def _ranking(self) -> Tensor:
        """(T,) int64: order of the support by instance, then by decreasing weight; stable."""
        by_weight = self.weights.detach().argsort(descending=True, stable=True)
        return by_weight[self.instance[by_weight].argsort(stable=True)]

    def _total(self, values: Tensor) -> Tensor:
        """The sum over the structures of each instance: (T, ...) -> (*batch, ...)."""
        return sum_by_instance(values, self.instance, self.sizes.shape)

    def _batched(self, table: Tensor) -> Tensor:
        """(B, ...) -> (*batch, ...)."""
        return BatchShape(self.sizes.shape).restore(table)


def one_of(table: Tensor, batch: Size, i: int) -> Tensor:
    """The entry (1, ...) of instance `i` of the flattened batch in a table (*batch, ...)."""
    return table.reshape(-1, *table.shape[len(batch) :])[i : i + 1]
