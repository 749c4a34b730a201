"""User-defined structures: three methods in plain Python."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from sparsewood._internal.batch import given_shape
from sparsewood._internal.lengths import check_lengths
from sparsewood._internal.numbers import check_whole
from sparsewood._internal.transforms import on_values
from sparsewood.structures.base import Structure
from sparsewood.structures.oracle_error import OracleError, OracleValueError


class Custom(Structure):
    """Base class for your own family of structures. Define `best`, `parts` and `check`.

    The methods get one instance at a time, as torch tensors. Write `class Mine(Custom,
    arrays="numpy")` for NumPy arrays, or `batched=True` for methods that take a whole batch: the
    shapes below then begin with the batch size. With `parts_ndim` (the number of dimensions of
    `*parts`), calls take scores with any number of batch dimensions. Example: two adjacent seats
    in a row of `n`:

        class Seats(Custom, arrays="numpy", parts_ndim=1):
            def best(self, scores):  # (n,) -> (n,): a structure is a 0/1 vector
                left = (scores[:-1] + scores[1:]).argmax()
                return np.isin(np.arange(len(scores)), [left, left + 1])

            def parts(self, structure):  # (n,) -> (n,)
                return structure

            def check(self, shape):
                if len(shape) != 1 or shape[0] < 2:
                    raise ValueError(f"expected scores of two seats or more, got {shape}")

    **`best` returns the structure with the HIGHEST score.** If your algorithm minimises costs, pass
    it `-scores`. If an answer scores below an earlier answer of `best` for the same instance, an
    `OracleValueError` is raised. If a solve ends with a single structure, `best` is called once
    more with the scores reflected within their range, to detect an oracle that minimises.

    **Parts are 0 or 1** unless you write `class Mine(Custom, binary=False)`: then `parts` may
    return any finite numbers, such as ranks, flows or counts. The score of a structure is the sum
    of scores times parts, and it uses the parts that are not 0.

    SparseMAP, gradients, losses and the posterior work without further code; if you also define
    `enumerate`, the conformance kit of `sparsewood.testing` can check the family. An exception in
    your code is re-raised as an `OracleError`, a RuntimeError that names the instance, or as an
    `OracleValueError` if it was a ValueError. So is an answer that has the wrong shape or dtype or
    uses padding.

    To support instances of different sizes, give `best` a second parameter and define `reads`.
    """

    arrays: ClassVar[Literal["torch", "numpy"]] = "torch"
    batched: ClassVar[bool] = False

    def __init_subclass__(
        cls,
        *,
        arrays: Literal["torch", "numpy"] | None = None,
        batched: bool | None = None,
        binary: bool | None = None,
        parts_ndim: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        if arrays not in (None, "torch", "numpy"):
            raise ValueError(f'{cls.__name__}: arrays must be "torch" or "numpy", got {arrays!r}')
        if arrays is not None:
            cls.arrays = arrays
        if batched is not None:
            cls.batched = batched
        if binary is not None:
            cls.binary = binary
        if parts_ndim is not None:
            cls.parts_ndim = check_whole(f"{cls.__name__}: parts_ndim", parts_ndim)

    # Required methods.

    @abstractmethod
    def best(self, scores: Any, *args: Any, **kwargs: Any) -> Any:
        """The MAP oracle: the structure with the HIGHEST score.

        Args:
            scores: (*parts) float64, a copy. A part scored -inf must not be used.
            length: passed only if you define this second parameter and the caller gives `lengths`:
                the size of the instance, an int, or a list if it has several sizes.

        Returns:
            (*event) integers or booleans, any encoding that is unique per structure and always has
            the same shape. Ties must be broken the same way each time.
        """

    @abstractmethod
    def parts(self, structure: Any) -> Any:
        """The parts that a structure uses: (*event) -> (*parts), 0/1 in any dtype.

        With `binary=False` any finite numbers.
        """

    @abstractmethod
    def check(self, shape: tuple[int, ...]) -> None:
        """Raise ValueError unless `shape` is a valid shape for the scores (*parts)."""

    # The interface of Structure, built on the methods above.

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        self.validate(scores, lengths)
        if len(scores) == 0:  # the shape comes from a made-up instance
            return self.argmax(scores.new_zeros(1, *scores.shape[1:]))[:0]
        best = on_values(lambda table: self._best(table, lengths), scores)
        used = self._parts(best, tuple(scores.shape[1:]), "instance").bool()
        missing = used & (scores.isnan() | ~self.reads(scores, lengths))
        if missing.any():
            b, *part = missing.nonzero()[0].tolist()
            raise OracleError(f"best uses the part {tuple(part)}, which is padding or NaN", b)
        return best

    def _best(self, scores: Tensor, lengths: Tensor | None) -> Tensor:
        table = scores.detach().double()
        best = self._apply(self.best, table, lengths, "instance", _not_integers)
        return best.to(scores.device, torch.int64)

    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        return self._parts(structures, shape, "structure")

    def _parts(self, structures: Tensor, shape: tuple[int, ...], unit: str) -> Tensor:
        if len(structures) == 0:
            return torch.zeros(0, *shape, dtype=torch.float64, device=structures.device)

        problem_of = partial(_not_parts, shape=shape, binary=self.binary)

        def find(structures: Tensor) -> Tensor:
            used = self._apply(self.parts, structures, None, unit, problem_of).double()
            finite = used.isfinite().flatten(1).all(-1)
            if not finite.all():
                at = int((~finite).nonzero()[0])
                raise OracleValueError("parts returned a number that is not finite", at, unit)
            return used.to(structures.device)

        return on_values(find, structures)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        name, shape = type(self).__name__, tuple(scores.shape)
        if scores.ndim < 2 or not scores.is_floating_point():
            raise ValueError(
                f"{name}: expected scores (*batch, *parts) of a floating dtype, "
                f"got {scores.dtype} of shape {given_shape(shape)}"
            )
        self.check(shape[1:])
        if lengths is None:
            return
        if not _takes_two(self.best):
            raise ValueError(f"{name}: lengths are given, but `best` has no parameter for them")
        check_lengths(lengths, len(scores))

    def _apply(
        self,
        method: Callable[..., Any],
        batch: Tensor,
        lengths: Tensor | None,
        unit: str,
        problem_of: Callable[[Tensor], str | None],
    ) -> Tensor:
        """Apply the user's `method` to each of (N, ...): (N, ...). Raises `OracleError`."""

        def ask(begin: int, end: int, index: int | None) -> Tensor:
            given = [batch[begin:end], *([] if lengths is None else [lengths[begin:end]])]
            try:
                answer = self._call(method, given)
            except Exception as error:
                kind = OracleValueError if isinstance(error, ValueError) else OracleError
                problem = f"{method.__name__} failed with {type(error).__name__}: {error}"
                raise kind(problem, index, unit) from error
            problem = problem_of(answer)
            if answer.ndim == 0 or len(answer) != end - begin:
                problem = f"returned shape {tuple(answer.shape)} for a batch of {end - begin}"
            if problem is not None:
                raise OracleError(f"{method.__name__} {problem}", index, unit)
            return answer

        if not self.batched:
            return _concatenate([ask(i, i + 1, i) for i in range(len(batch))], method, unit)
        try:
            return ask(0, len(batch), None)
        except OracleError:
            for i in range(len(batch)):  # find the first instance that fails on its own
                ask(i, i + 1, i)
            raise

    def _call(self, method: Callable[..., Any], given: list[Tensor]) -> Tensor:
        """(n, ...) -> (n, ...) through the user's code; n = 1 unless it is batched."""
        numpy = self.arrays == "numpy"
        # Copies, as the user's code may write to them.
        copies = [t.cpu().numpy().copy() if numpy else t.clone() for t in given]
        if self.batched:
            return torch.as_tensor(method(*copies))
        one, *length = (copy[0] for copy in copies)
        return torch.as_tensor(method(one, *(n.tolist() for n in length)))[None]


def _concatenate(answers: list[Tensor], method: Callable[..., Any], unit: str) -> Tensor:
    """Concatenate answers (1, ...), which must have the same shape."""
    first = answers[0].shape
    for i, answer in enumerate(answers):
        if answer.shape != first:
            raise OracleError(
                f"{method.__name__} returned shape {tuple(answer.shape[1:])}, "
                f"but {tuple(first[1:])} for {unit} 0",
                i,
                unit,
            )
    return torch.cat(answers)


def _not_integers(answer: Tensor) -> str | None:
    if answer.is_floating_point() or answer.is_complex():
        return f"returned {answer.dtype}, expected integers"
    return None


def _not_parts(answer: Tensor, shape: tuple[int, ...], binary: bool) -> str | None:
    if answer.shape[1:] != shape:
        return f"returned shape {tuple(answer.shape[1:])}, expected {shape} like the scores"
    if answer.is_complex():
        return f"returned {answer.dtype}, expected real numbers"
    if binary and not ((answer == 0) | (answer == 1)).all():
        return "returned values other than 0 and 1, which need class ...(Custom, binary=False)"
    return None


def _takes_two(method: Callable[..., Any]) -> bool:
    """Whether a bound method can be called with two arguments."""
    try:
        signature(method).bind(None, None)
    except TypeError:
        return False
    return True
