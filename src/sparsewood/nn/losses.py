"""The supervised losses as modules: scores (*batch, *parts), gold (*batch, *event) -> loss."""

from typing import Generic, TypeVar

from torch import Tensor, nn

from sparsewood.inference import crf_loss, hinge_loss, perceptron_loss, sparsemap_loss
from sparsewood.inference._gold import Reduction
from sparsewood.structures.base import Structure
from sparsewood.structures.factor_graph import FactorGraph

Family = TypeVar("Family", bound=Structure | FactorGraph)


class _Loss(nn.Module, Generic[Family]):
    """The options that all losses have."""

    def __init__(self, structure: Family, *, reduction: Reduction = "mean") -> None:
        super().__init__()
        self.structure = structure
        self.reduction: Reduction = reduction

    def extra_repr(self) -> str:
        return f"{self.structure}, reduction={self.reduction!r}"


class _MarginLoss(_Loss[Family]):
    """The options of the losses with a margin."""

    def __init__(self, structure: Family, *, margin: float, reduction: Reduction = "mean") -> None:
        super().__init__(structure, reduction=reduction)
        self.margin = margin

    def extra_repr(self) -> str:
        return f"{self.structure}, margin={self.margin}, reduction={self.reduction!r}"


class CRFLoss(_Loss[Structure]):
    """`sparsewood.crf_loss` with its options fixed."""

    def forward(self, scores: Tensor, gold: Tensor, lengths: Tensor | None = None) -> Tensor:
        return crf_loss(scores, gold, self.structure, lengths=lengths, reduction=self.reduction)


class PerceptronLoss(_Loss[Structure]):
    """`sparsewood.perceptron_loss` with its options fixed."""

    def forward(self, scores: Tensor, gold: Tensor, lengths: Tensor | None = None) -> Tensor:
        return perceptron_loss(
            scores, gold, self.structure, lengths=lengths, reduction=self.reduction
        )


class HingeLoss(_MarginLoss[Structure]):
    """`sparsewood.hinge_loss` with its options fixed."""

    def __init__(
        self, structure: Structure, *, margin: float = 1.0, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(structure, margin=margin, reduction=reduction)

    def forward(self, scores: Tensor, gold: Tensor, lengths: Tensor | None = None) -> Tensor:
        return hinge_loss(
            scores,
            gold,
            self.structure,
            lengths=lengths,
            margin=self.margin,
            reduction=self.reduction,
        )


class SparseMAPLoss(_MarginLoss[Structure | FactorGraph]):
    """`sparsewood.sparsemap_loss` with its options fixed."""

    def __init__(
        self,
        structure: Structure | FactorGraph,
        *,
        margin: float = 0.0,
        max_active: int | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(structure, margin=margin, reduction=reduction)
        self.max_active = max_active

    def forward(self, scores: Tensor, gold: Tensor, lengths: Tensor | None = None) -> Tensor:
        return sparsemap_loss(
            scores,
            gold,
            self.structure,
            lengths=lengths,
            margin=self.margin,
            max_active=self.max_active,
            reduction=self.reduction,
        )

    def extra_repr(self) -> str:
        cap = "" if self.max_active is None else f", max_active={self.max_active}"
        return super().extra_repr() + cap
