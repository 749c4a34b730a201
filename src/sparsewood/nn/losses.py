"""The supervised losses as modules: scores (*batch, *parts), gold (*batch, *event) -> loss."""

from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

from torch import Tensor, nn

from sparsewood.inference import crf_loss, hinge_loss, perceptron_loss, sparsemap_loss
from sparsewood.inference._gold import Reduction
from sparsewood.structures.base import Structure
from sparsewood.structures.factor_graph import FactorGraph

Family = TypeVar("Family", bound=Structure | FactorGraph)


class _Loss(nn.Module, Generic[Family]):
    """A loss function with fixed options; `_options` names the attributes that hold them."""

    _function: ClassVar[Callable[..., Tensor]]
    _options: ClassVar[tuple[str, ...]] = ("reduction",)

    def __init__(self, structure: Family, *, reduction: Reduction = "mean") -> None:
        super().__init__()
        self.structure = structure
        self.reduction: Reduction = reduction

    def forward(self, scores: Tensor, gold: Tensor, lengths: Tensor | None = None) -> Tensor:
        options = {name: getattr(self, name) for name in self._options}
        return type(self)._function(scores, gold, self.structure, lengths=lengths, **options)

    def extra_repr(self) -> str:
        values = ((name, getattr(self, name)) for name in self._options)
        shown = (f"{name}={value!r}" for name, value in values if value is not None)
        return ", ".join([str(self.structure), *shown])


class CRFLoss(_Loss[Structure]):
    """`sparsewood.crf_loss` with fixed options."""

    _function = crf_loss


class PerceptronLoss(_Loss[Structure]):
    """`sparsewood.perceptron_loss` with fixed options."""

    _function = perceptron_loss


class HingeLoss(_Loss[Structure]):
    """`sparsewood.hinge_loss` with fixed options."""

    _function = hinge_loss
    _options = ("margin", "reduction")

    def __init__(
        self, structure: Structure, *, margin: float = 1.0, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(structure, reduction=reduction)
        self.margin = margin


class SparseMAPLoss(_Loss[Structure | FactorGraph]):
    """`sparsewood.sparsemap_loss` with fixed options."""

    _function = sparsemap_loss
    _options = ("margin", "reduction", "max_active")

    def __init__(
        self,
        structure: Structure | FactorGraph,
        *,
        margin: float = 0.0,
        max_active: int | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(structure, reduction=reduction)
        self.margin = margin
        self.max_active = max_active
