"""SparseMAP as a module."""

from typing import Literal

from torch import Tensor, nn

from sparsewood.inference.sparsemap import sparsemap
from sparsewood.posterior import SparsePosterior
from sparsewood.structures.base import Structure


class SparseMAP(nn.Module):
    """`sparsewood.sparsemap` with its options fixed: scores (B, *parts) -> `SparsePosterior`."""

    def __init__(
        self,
        structure: Structure,
        *,
        temperature: float = 1.0,
        tol: float = 1e-9,
        max_active: int | None = None,
        max_iter: int | None = None,
        solver: Literal["native", "generic"] | None = None,
    ) -> None:
        super().__init__()
        self.structure = structure
        self.temperature = temperature
        self.tol = tol
        self.max_active = max_active
        self.max_iter = max_iter
        self.solver: Literal["native", "generic"] | None = solver

    def forward(self, scores: Tensor, lengths: Tensor | None = None) -> SparsePosterior:
        return sparsemap(
            scores,
            self.structure,
            lengths=lengths,
            temperature=self.temperature,
            tol=self.tol,
            max_active=self.max_active,
            max_iter=self.max_iter,
            solver=self.solver,
        )

    def extra_repr(self) -> str:
        caps = {"max_active": self.max_active, "max_iter": self.max_iter, "solver": self.solver}
        given = "".join(f", {name}={value!r}" for name, value in caps.items() if value is not None)
        return f"{self.structure}, temperature={self.temperature}, tol={self.tol}{given}"
