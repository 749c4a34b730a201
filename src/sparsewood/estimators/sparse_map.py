"""SparseMAP: sparse posteriors with exact gradients."""

from dataclasses import dataclass
from typing import Literal

from sparsewood._internal.numbers import check_real
from sparsewood.estimators.base import Estimator, Problem
from sparsewood.inference._cooled import TemperatureGradient
from sparsewood.inference._options import (
    Unconverged,
    Weights,
    check_options,
    check_solver,
    check_unconverged,
)
from sparsewood.inference.sparsemap import sparsemap
from sparsewood.sparse_posterior import SparsePosterior


@dataclass(frozen=True, repr=False)
class SparseMAP(Estimator):
    """The SparseMAP posterior; its weights carry the exact gradient. See `sparsewood.sparsemap`.

    Niculae, Martins & Cardie 2018, "Towards dynamic computation graphs via sparse latent
    structure".

    Args:
        temperature: scores are divided by it; lower is sparser.
        tol: tolerance on the duality gap, relative to the range of an instance's scores.
        max_active: maximum number of structures to keep.
        max_iter: maximum number of quadratic programs.
        max_support: maximum number of structures, reached by lowering the temperature.
        weights: "solver", or "canonical": a continuous function of the scores.
        temperature_gradient: with `max_support`, "constant" or "scores".
        solver: "native" or "generic"; default: native if the structure supports it.
        on_unconverged: "return", "warn" or "raise".
    """

    temperature: float = 1.0
    tol: float = 1e-9
    max_active: int | None = None
    max_iter: int | None = None
    max_support: int | None = None
    weights: Weights = "solver"
    temperature_gradient: TemperatureGradient = "constant"
    solver: Literal["native", "generic"] | None = None
    on_unconverged: Unconverged = "return"

    def __post_init__(self) -> None:
        check_real("temperature", self.temperature, positive=True)
        caps = self.max_active, self.max_iter, self.max_support
        check_options(self.tol, *caps, self.weights, self.temperature_gradient)
        check_solver(self.solver)
        check_unconverged(self.on_unconverged)

    def estimate(self, problem: Problem) -> SparsePosterior:
        return sparsemap(
            problem.scores,
            problem.structure,
            lengths=problem.lengths,
            temperature=self.temperature,
            tol=self.tol,
            max_active=self.max_active,
            max_iter=self.max_iter,
            max_support=self.max_support,
            weights=self.weights,
            temperature_gradient=self.temperature_gradient,
            solver=self.solver,
            on_unconverged=self.on_unconverged,
        )
