"""The interface of families of structures."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sparsewood._internal.batch import given_batch, given_shape
from sparsewood._internal.lengths import check_lengths
from sparsewood._internal.transforms import is_transformed, on_values
from sparsewood.structures import _kernels, _oracle
from sparsewood.structures._perceptron import search
from sparsewood.structures.recursions import SampledTotal, Shifted, Total, logsumexp
from sparsewood.structures.recursions.chart_sums import Chart, chart_samples, chart_sums

WORDS_MAX = 32_767  # native trees store positions in 16 bits
_PARTS_MAX = 2**30  # the native solver counts the scores of an instance in 32 bits


class Native(NamedTuple):
    """A family of the native solver: its name and options."""

    name: str
    options: tuple[int, ...] = ()


class Structure(ABC):
    """A family of discrete objects, each made of *parts* that carry a score.

    The score of a structure is the sum of the scores of its parts, `<theta, m(h)>`, where `m(h)` is
    the 0/1 indicator of the parts that the structure `h` uses. With `binary = False` its entries
    may be any finite numbers: ranks, flows, counts. Three methods define a family: `argmax`,
    `indicator` and `validate`. SparseMAP, its gradients, the posterior, the losses and the
    conformance kit (`sparsewood.testing`) need nothing else.

    Shapes: `B` instances in a batch, `T` structures, `*parts` the shape of one instance's scores,
    `*event` the shape of one structure's integer encoding. If `parts_ndim` gives the number of
    dimensions of `*parts`, every call takes scores with any number of batch dimensions,
    (*batch, *parts); the methods of a structure always get one, (B, *parts).

    Example: a choice of one out of `n` parts, for which SparseMAP is sparsemax:

        class Choice(Structure):
            parts_ndim = 1

            def argmax(self, scores, lengths=None):
                return scores.argmax(-1)

            def indicator(self, structures, shape):
                return torch.nn.functional.one_hot(structures, shape[0]).double()

            def validate(self, scores, lengths=None):
                if scores.ndim != 2:
                    raise ValueError(f"expected (B, n), got {tuple(scores.shape)}")
    """

    parts_ndim: int | None = None  # None: unknown, and scores are (B, *parts)
    binary: bool = True  # whether all parts are 0 or 1; False: any finite numbers
    costs_only: bool = False  # whether `argmax` is right only for scores of at most 0

    # Required methods.

    @abstractmethod
    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The MAP oracle: the highest scoring structure of each instance.

        Args:
            scores: (B, *parts), floating. A part scored -inf must not be used.
            lengths: (B,) int64, or (B, d), the size of each instance; None: all have full size.

        Returns:
            (B, *event) int64 on the device of `scores`. Ties must be broken the same way each time.
        """

    @abstractmethod
    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        """The parts each structure uses: (T, *event) -> (T, *parts), float64, same device.

        0 or 1, or any finite numbers if the family is not `binary`: how much of each part it uses.

        Args:
            structures: (T, *event) int64.
            shape: the shape of one instance's scores.
        """

    @abstractmethod
    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        """Raise ValueError unless shape, dtype and lengths fit this family.

        Called before every solve, so it must be cheap: no pass over the scores.
        """

    # Optional overrides.

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Which parts are read: bool, the shape of `scores`. Default: all.

        Parts that are not read (padding, impossible parts) may hold any value, NaN included.
        """
        return torch.ones_like(scores, dtype=torch.bool)

    def penalised(self, scores: Tensor) -> Tensor | None:
        """Which parts carry the quadratic penalty of SparseMAP: bool (*parts). None: all.

        Any two structures must differ in a penalised part. The marginals of other parts need not
        be unique.
        """
        return None

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (T, *event) are members of this family: (T,) bool.

        Default: those that the oracle returns when their parts score 1 and all others -1. For a
        member, no other structure then scores as high. If parts are numbers, scores that single out
        a member are searched by perceptron steps, from the parts themselves. They exist unless the
        parts of the member are a mean of those of others: then define `contains`.

        Args:
            structures: (T, *event) int64, any numbers.
            shape: the shape of one instance's scores.
            lengths: (T,), or (T, d), the size of each instance; None: all have full size.
        """
        parts = self.indicator(structures, shape)
        if parts.shape[1:] != shape:
            raise ValueError(f"{self}.indicator gives parts of shape {tuple(parts.shape[1:])}")
        found = self._with_parts(parts, lengths)
        if found.shape != structures.shape:
            raise ValueError(f"structures of {self} have shape {tuple(found.shape[1:])}")
        return (found == structures).unsqueeze(-1).flatten(1).all(-1)

    def decode(self, parts: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The inverse of `indicator`: the structures that use (T, *parts), as (T, *event).

        Default: the oracle, as for `contains`.
        """
        return self._with_parts(parts.double(), lengths)

    def _with_parts(self, parts: Tensor, lengths: Tensor | None) -> Tensor:
        """The members with the parts (T, *parts); any members where there are none."""
        if self.binary:
            return self.argmax(2 * parts - 1, lengths)
        return search(self.argmax, self.indicator, parts, lengths)

    # The size arguments depend on the family: (n), (n, labels), ...

    def count(self, *size: Any, **named: Any) -> int:
        """How many structures an instance of this size has."""
        return len(self.enumerate(*size, **named))

    def enumerate(self, *size: Any, **named: Any) -> Tensor:
        """Every structure of an instance of this size: (count, *event). For tests, small sizes."""
        raise NotImplementedError(f"{type(self).__name__} does not define enumerate")

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        """The sum over all structures, `log sum_h exp <scores, m(h)>`: (B, *parts) -> (B,).

        Args:
            scores: float64, `recursions.FORBIDDEN` at parts that are forbidden or not read.
            lengths: int64 on the device of `scores`.
            total: the operator that sums alternatives: see `recursions`.
        """
        raise ValueError(
            f"{self} has no recursion that sums over all structures: define log_partition, "
            "or use sparsemap, which needs only the MAP oracle"
        )

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        """The scores of steps minus a constant per instance: see `recursions.Shifted`.

        Arguments as for `log_partition`; `scores` may be overwritten. Default: the steps are the
        parts and the constant is 0.
        """
        return Shifted(scores, scores.new_zeros(len(scores)))

    def sum_steps(self, steps: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        """`log_partition` of the scores of steps: (B, *steps) -> (B,)."""
        return self.log_partition(steps, lengths, total)

    def steps_of(self, parts: Tensor) -> Tensor:
        """The steps of structures that use (T, *parts), as (T, *steps)."""
        return parts

    def parts_of(self, steps: Tensor) -> Tensor:
        """The parts of (T, *steps), as (T, *parts). Linear, so it maps marginals as well."""
        return steps

    def chart(self, steps: Tensor, lengths: Tensor | None) -> Chart | None:
        """The native chart that sums over steps scored (B, *steps). None: there is none."""
        return None

    def sums(self, steps: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """`sum_steps`, and the marginals of the steps if they come at little extra cost."""

        def recursion(steps: Tensor) -> Tensor:
            return self.sum_steps(steps, lengths, logsumexp)

        found = chart_sums(self._chart(steps, lengths), steps, recursion)
        return (recursion(steps), None) if found is None else found

    def part_sums(self, scores: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor] | None:
        """`log_partition` and the marginals of parts at once, faster than by steps.

        None: there is no such way. Arguments as for `log_partition`; differentiable.
        """
        return None

    def samples(
        self, steps: Tensor, lengths: Tensor | None, n: int, generator: torch.Generator | None
    ) -> Tensor:
        """`n` exact samples per instance: (B, *steps) scores -> (n, B, *event) int64."""
        limits = None if lengths is None else repeat(lengths, n)
        found = chart_samples(self._chart(steps, lengths), steps, n, generator)
        if found is None:
            with torch.enable_grad():
                leaf = repeat(steps.detach(), n).requires_grad_()
                value = self.sum_steps(leaf, limits, SampledTotal(generator))
                (found,) = torch.autograd.grad(value.sum(), leaf)
        return self.decode(self.parts_of(found), limits).unflatten(0, (n, len(steps)))

    def _chart(self, steps: Tensor, lengths: Tensor | None) -> Chart | None:
        # A graph or a transform cannot see into native code.
        return None if is_transformed(steps) else self.chart(steps, lengths)

    def max_marginals(self, scores: Tensor, lengths: Tensor | None) -> Tensor | None:
        """The score of the best structure that uses each part: (B, *parts), differentiable.

        None: computed by calls of the oracle. `scores` are float64, -inf at parts that are
        forbidden or not read. The result is -inf at parts that no structure uses.
        """
        return None

    def kbest(self, scores: Tensor, lengths: Tensor | None, k: int) -> tuple[Tensor, Tensor] | None:
        """The k best structures of each instance, best first: (T, *event), and how many, (B,).

        `scores` are (B, *parts) float64; the T structures are ordered by instance. An instance with
        fewer than `k` structures gets all it has. None: there is no algorithm.
        """
        return None

    def spanning(self, theta: Tensor, length: Tensor | None) -> tuple[Tensor, Tensor] | None:
        """A closed form of SparseMAP: structures of its support (K, *event) and weights (K,).

        For the scores `theta` (*parts) of one instance, float64 on the CPU, 0 at parts that are not
        read; `length` is its entry of the lengths. The parts of the structures must be affinely
        independent. The solver starts from them and certifies the result. None: there is none.
        """
        return None

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        """The shape of one structure's encoding for scores (B, *parts). None: unknown."""
        return None

    def full_size(self, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        """The size of an instance that fills scores of shape (B, *parts): its lengths if None.

        None: unknown, and so is the number of sizes per instance.
        """
        return None

    @property
    def has_sums(self) -> bool:
        """Whether the family can sum over all structures: marginals, exact samples."""
        own = type(self)
        return (own.log_partition, own.sum_steps) != (Structure.log_partition, Structure.sum_steps)

    @property
    def has_kbest(self) -> bool:
        """Whether the family has an algorithm for the k best structures."""
        return type(self).kbest is not Structure.kbest

    @property
    def native(self) -> Native | None:
        """The family of the native solver. None: use the generic solver."""
        return None

    @property
    def has_native_solver(self) -> bool:
        """Whether the native solver serves the family: it has 0/1 parts only."""
        return self.native is not None and self.binary

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def repeat(x: Tensor, n: int) -> Tensor:
    """(B, ...) -> (n * B, ...)"""
    return x.expand(n, *x.shape).flatten(0, 1)


class OwnParts(Structure):
    """A family whose structures are 0/1 tables of their parts: (T, *parts) int64."""

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    def indicator(self, structures: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
        return structures.to(torch.float64)

    def decode(self, parts: Tensor, lengths: Tensor | None = None) -> Tensor:
        return parts.to(torch.int64)


class NativeStructure(Structure):
    """A family with a native oracle: defines `native` and `event_shape` instead of `argmax`."""

    @property
    @abstractmethod
    def native(self) -> Native:
        """The family of the native solver."""

    @property
    def has_kbest(self) -> bool:
        return not self.costs_only

    def full_size(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The size of an instance that fills scores of shape (B, *parts): its lengths if None.

        Default: the first size of the parts.
        """
        return shape[:1]

    @abstractmethod
    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one structure's encoding for scores of shape (B, *parts)."""

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        self.validate(scores, lengths)
        if torch.compiler.is_compiling():
            return self.argmax_in_graph(scores, lengths, scores.shape[:1])
        batch = given_batch(len(scores))
        return on_values(lambda table: _oracle.find(*self._asked(table, lengths, batch)), scores)

    def argmax_in_graph(
        self, scores: Tensor, lengths: Tensor | None, batch: Sequence[int]
    ) -> Tensor:
        """`argmax` as an operator; its errors give indices into a batch of shape `batch`."""
        return _oracle.find_op(*self._asked(scores.detach(), lengths, batch))

    def _asked(
        self, scores: Tensor, lengths: Tensor | None, batch: Sequence[int]
    ) -> tuple[Any, ...]:
        """The arguments of `_oracle.find`."""
        shape = tuple(scores.shape[1:])
        sizes = None if lengths is None else self.size_of(scores, lengths)
        name, options = self.native
        event, full = list(self.event_shape(shape)), list(self.full_size(shape))
        family = name, [int(option) for option in options]
        return self.restrict(scores), event, sizes, full, *family, list(batch)

    def best(self, scores: Tensor, lengths: Tensor | None) -> _kernels.Best | None:
        """`argmax` and its scores by kernels, which also check the values of `scores`, `lengths`.

        None: no kernels for the device, or an instance has no structure; the host then raises.
        """
        batch = self.padded("argmax", scores, lengths)
        if batch is None:
            return None
        return _kernels.argmax(batch, self.event_shape(tuple(scores.shape[1:])))

    def padded(
        self, task: str, scores: Tensor, lengths: Tensor | None
    ) -> _kernels.KernelBatch | None:
        """The batch in the form that kernels take. None: no kernels for its device."""
        full = self.full_size(tuple(scores.shape[1:]))
        return _kernels.KernelBatch.of(task, *self.native, self.restrict(scores), lengths, full)

    def native_batch(
        self, scores: Tensor, lengths: Tensor | None
    ) -> tuple[str, tuple[int, ...], Tensor, Tensor, tuple[int, ...]]:
        """The arguments of the native extension: family, options, scores, sizes, full size."""
        name, options = self.native
        return (
            name,
            options,
            self.restrict(scores.detach()).to("cpu", torch.float64).contiguous(),
            self.size_of(scores, lengths).cpu(),
            self.full_size(tuple(scores.shape[1:])),
        )

    def restrict(self, scores: Tensor) -> Tensor:
        """The scores with -inf at parts that the native family reads but this family does not."""
        return scores

    def size_of(self, scores: Tensor, lengths: Tensor | None) -> Tensor:
        """(B, d) int64 on the device of `scores`: `lengths`, or the full size of each instance."""
        full = self.full_size(tuple(scores.shape[1:]))
        if lengths is None:
            sizes = [torch.full((len(scores),), size, device=scores.device) for size in full]
            return torch.stack(sizes, 1)  # on the device: `torch.tensor` would copy
        return lengths.to(scores.device, torch.int64).reshape(len(scores), len(full)).contiguous()

    def check_dtype_and_lengths(self, what: str, scores: Tensor, lengths: Tensor | None) -> None:
        """Raise ValueError unless `scores` are floating and `lengths` fit them.

        An instance may have at most 2**30 scores. `what` names `scores` in messages.
        """
        if not scores.is_floating_point():
            raise ValueError(f"{what}: expected a floating dtype, got {scores.dtype}")
        if (parts := prod(scores.shape[1:])) > _PARTS_MAX:
            raise ValueError(
                f"{what} of shape {given_shape(scores.shape)}: expected at most {_PARTS_MAX} "
                f"scores per instance, got {parts}; split the instances into smaller ones"
            )
        if lengths is not None:
            check_lengths(lengths, len(scores), self.full_size(tuple(scores.shape[1:])))
