"""What every estimator is: a value that turns scores into a posterior."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from sparsewood._internal.numbers import shown
from sparsewood.posterior import Posterior
from sparsewood.structures.base import NativeStructure, Structure

GradientThrough = Literal["weights", "parts", "none"]
Primitive = Literal["kbest", "sums"]

# What an estimator may need beyond the MAP oracle, in words, and which families have it.
_PRIMITIVES: dict[Primitive, tuple[str, Callable[[Structure], bool]]] = {
    "kbest": ("the k best structures", lambda family: isinstance(family, NativeStructure)),
    "sums": ("a sum over all structures", lambda family: family.has_sums),
}


class Problem(NamedTuple):
    """What an estimator is asked: the arguments of its call."""

    scores: Tensor  # (*batch, *parts)
    structure: Structure
    lengths: Tensor | None = None
    generator: torch.Generator | None = None


class Estimator(ABC):
    """How a model learns through a latent structure.

    Each is a frozen dataclass with its options as fields and one method, `estimate`; called as

        posterior = estimator(scores, structure, lengths, generator=generator)

    A network then uses the structures of the posterior, or its `parts`, and `posterior.expect` is
    the expectation of what it makes of them.

    Attributes:
        reads_scores: whether the answer depends on the scores. Where it does not, they only say
            the shape, and may hold anything.
        gives_structures: whether there are whole structures in the posterior, or soft parts alone.
        gradient_through: what of the posterior carries the gradient to the scores: its `weights`;
            its `parts`, so that the network has to be differentiable in these; or nothing.
        is_random: whether the answer depends on random numbers.
    """

    reads_scores: ClassVar[bool] = True
    gives_structures: ClassVar[bool] = True
    gradient_through: ClassVar[GradientThrough] = "weights"
    is_random: ClassVar[bool] = False

    @abstractmethod
    def estimate(self, problem: Problem) -> Posterior:
        """The posterior of the instances of a problem."""

    def needs(self) -> tuple[Primitive, ...]:
        """What a family has to have beside its MAP oracle."""
        return ()

    def at_test(self) -> "Estimator":
        """What takes its place out of training; one that draws random numbers, the best guess."""
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
            scores: (*batch, *parts), floating; see the structure for what the parts are. -inf
                forbids a part. Parts that the structure does not read may hold anything.
            structure: the family of structures.
            lengths: the size of each instance, (*batch,) or as the family has it. Default: all
                have full size.
            generator: of the random numbers, for estimators that draw some.

        Returns:
            A `Posterior` in the dtype and on the device of `scores`.

        Raises:
            TypeError: if the family lacks what the estimator needs.
        """
        if isinstance(structure, Structure):
            for primitive in self.needs():
                words, has = _PRIMITIVES[primitive]
                if not has(structure):
                    raise TypeError(
                        f"{self} needs {words}, and none is known for {structure}; SparseMAP, "
                        "Perturbed and IMLE need the MAP oracle alone"
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
    """An estimator: an instance, not its class or its name."""
    if not isinstance(estimator, Estimator):
        is_class = isinstance(estimator, type)
        kind = f"the class {estimator.__name__}" if is_class else shown(estimator)
        raise ValueError(f"estimator: expected an Estimator such as SparseMAP(), got {kind}")
