"""The supervised losses as modules: scores (B, *parts), gold (B, *event) -> loss."""

from torch import Tensor, nn

from sparsewood.inference import crf_loss, hinge_loss, perceptron_loss, sparsemap_loss
from sparsewood.inference._gold import Reduction
from sparsewood.structures.base import Structure


class _Loss(nn.Module):
    """The options that all losses have."""

    def __init__(self, structure: Structure, *, reduction: Reduction = "mean") -> None:
        super().__init__()
        self.structure = structure
        self.reduction: Reduction = reduction

    def extra_repr(self) -> str:
        return f"{self.structure}, reduction={self.reduction!r}"


class _MarginLoss(_Loss):
    """The options of the losses with a margin."""

    def __init__(
        self, structure: Structure, *, margin: float, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(structure, reduction=reduction)
        self.margin = margin

    def extra_repr(self) -> str:
        return f"{self.structure}, margin={self.margin}, reduction={self.reduction!r}"


class CRFLoss(_Loss):
    """`sparsewood.crf_loss` with its options fixed: scores (B, *parts), gold (B, *event)."""

    def forward(self, scores: Tensor, gold: Tensor, lengths: Tensor | None = None) -> Tensor:
        return crf_loss(scores, gold, self.structure, lengths=lengths, reduction=self.reduction)


class PerceptronLoss(_Loss):
    """`sparsewood.perceptron_loss` with its options fixed: scores (B, *parts), gold (B, *event)."""

    def forward(self, scores: Tensor, gold: Tensor, lengths: Tensor | None = None) -> Tensor:
        return perceptron_loss(
            scores, gold, self.structure, lengths=lengths, reduction=self.reduction
        )


class HingeLoss(_MarginLoss):
    """`sparsewood.hinge_loss` with its options fixed: scores (B, *parts), gold (B, *event)."""

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


class SparseMAPLoss(_MarginLoss):
    """`sparsewood.sparsemap_loss` with its options fixed: scores (B, *parts), gold (B, *event)."""

    def __init__(
        self,
        structure: Structure,
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
