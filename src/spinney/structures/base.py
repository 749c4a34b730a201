"""The protocol that every structure follows."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor


class Structure(ABC):
    """A family of discrete objects, each made of *parts* that carry a score.

    The score of a structure is the sum of the scores of its parts, `<theta, m(h)>`, where `m(h)` is
    the 0/1 indicator of the parts that the structure `h` uses. Three methods define a family:
    `argmax`, `indicator` and `validate`. SparseMAP, its gradients, the posterior, the losses and
    the conformance kit (`spinney.testing`) need nothing else.

    Shapes: `B` instances in a batch, `T` structures, `*parts` the shape of one instance's scores,
    `*event` the shape of one structure's integer encoding.

    A choice of one out of `n` parts (SparseMAP then is sparsemax):

        class Choice(Structure):
            def argmax(self, scores, lengths=None):
                return scores.argmax(-1)

            def indicator(self, structures):
                return torch.nn.functional.one_hot(structures, self.n).double()

            def validate(self, scores, lengths=None):
                if scores.shape[1:] != (self.n,):
                    raise ValueError(f"expected (B, {self.n}), got {tuple(scores.shape)}")
    """

    # The three that need to be defined.

    @abstractmethod
    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The MAP oracle: the highest scoring structure of each instance.

        Args:
            scores: (B, *parts), floating. A part scored -inf must not be used.
            lengths: (B,) int64, the size of each instance; None when all have full size.

        Returns:
            (B, *event) int64 on the device of `scores`. Equal scores must be decided the same way
            each time.
        """

    @abstractmethod
    def indicator(self, structures: Tensor) -> Tensor:
        """The parts each structure uses: (T, *event) -> (T, *parts), 0/1 float64, same device."""

    @abstractmethod
    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        """Raise ValueError unless shape, dtype and lengths fit this family.

        Called before every solve, so it must be cheap: no pass over the scores.
        """

    # The rest may be overridden.

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Which parts are ever read: bool, the shape of `scores`.

        The others (padding, impossible parts) may hold anything, NaN included. Default: all.
        """
        return torch.ones_like(scores, dtype=torch.bool)

    def contains(self, structures: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Which of (T, *event) are members of this family: (T,) bool. Checks gold structures."""
        raise NotImplementedError(f"{type(self).__name__} does not define contains")

    def count(self, n: int) -> int:
        """How many structures an instance of size `n` has."""
        return len(self.enumerate(n))

    def enumerate(self, n: int) -> Tensor:
        """Every structure of an instance of size `n`: (count(n), *event). For tests, small `n`."""
        raise NotImplementedError(f"{type(self).__name__} does not define enumerate")

    @property
    def native(self) -> tuple[str | bool | int, ...] | None:
        """The name of the native oracle followed by its options; None: the generic solver only."""
        return None
