"""The interface of estimators: values that turn scores into a posterior."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from sparsewood._internal.numbers import shown
from sparsewood.posterior import Posterior
from sparsewood.structures.base import Structure

GradientThrough = Literal["weights", "parts", "none"]
Primitive = Literal["kbest", "sums"]

# What an estimator may need besides the MAP oracle: a description, and a test of the family.
_PRIMITIVES: dict[Primitive, tuple[str, Callable[[Structure], bool]]] = {
    "kbest": ("the k best structures", lambda family: family.has_kbest),
    "sums": ("a sum over all structures", lambda family: family.has_sums),
}


class Problem(NamedTuple):
    """The arguments of the call of an estimator."""

    scores: Tensor  # (*batch, *parts)
    structure: Structure
    lengths: Tensor | None = None
    generator: torch.Generator | None = None


class Estimator(ABC):
    """Base class of estimators, which define how a model learns through a latent structure.

    Each is a frozen dataclass with its options as fields and one method, `estimate`. Usage:

        posterior = estimator(scores, structure, lengths, generator=generator)

    A network then reads the structures of the posterior, or its `parts`, and `posterior.expect`
    computes the expectation of its outputs.

    Attributes:
        reads_scores: whether the posterior depends on the scores. If not, they only give the shape
            and may hold any value.
        gives_structures: whether the posterior has structures, or only soft parts.
        gradient_through: what carries the gradient to the scores: the posterior's `weights`; its
            `parts`, in which the network must then be differentiable; or nothing.
        is_random: whether the posterior depends on random numbers.
    """

    reads_scores: ClassVar[bool] = True
    gives_structures: ClassVar[bool] = True
    gradient_through: ClassVar[GradientThrough] = "weights"
    is_random: ClassVar[bool] = False

    @abstractmethod
    def estimate(self, problem: Problem) -> Posterior:
        """The posterior of the instances of a problem."""

    def needs(self) -> tuple[Primitive, ...]:
        """What the family must support besides its MAP oracle."""
        return ()

    def at_test(self) -> "Estimator":
        """The estimator to use in evaluation: `MAP` for estimators that are random."""
        return self

    def __call__(
        self,
        scores: Tensor,
        structure: Structure,
        lengths: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Posterior:
        """The posterior over `structure` for each instance of a batch.

        Args:
            scores: (*batch, *parts), floating; the structure defines the parts. -inf forbids a
                part. Parts that the structure does not read may hold any value.
            structure: the family of structures.
            lengths: the size of each instance, (*batch,) or as the family defines. Default: all
                have full size.
            generator: random number generator, for estimators that are random.

        Returns:
            A `Posterior` with the dtype and device of `scores`.

        Raises:
            TypeError: the family does not support what the estimator needs.
        """
        if isinstance(structure, Structure):
            for primitive in self.needs():
                words, has = _PRIMITIVES[primitive]
                if not has(structure):
                    raise TypeError(
                        f"{self} needs {words}, which {structure} does not support; SparseMAP, "
                        "Perturbed and IMLE need only the MAP oracle"
                    )
        return self.estimate(Problem(scores, structure, lengths, generator))

    def options(self) -> dict[str, Any]:
        """The options that differ from their default, in order."""
        return options_of(self)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
        return f"{type(self).__name__}({shown})"


def options_of(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their default, in order."""
    return {
        field.name: getattr(value, field.name)
        for field in fields(value)
        if field.compare
        and (field.default is MISSING or getattr(value, field.name) != field.default)
    }


def check_estimator(estimator: Any) -> None:
    """Require an estimator: an instance, not its class or its name."""
    if not isinstance(estimator, Estimator):
        is_class = isinstance(estimator, type)
        kind = f"the class {estimator.__name__}" if is_class else shown(estimator)
        raise ValueError(f"estimator: expected an Estimator such as SparseMAP(), got {kind}")
