"""The options of SparseMAP, and their checks; they raise ValueError."""

from typing import Literal, NamedTuple, get_args

import torch

from sparsewood._internal.numbers import check_real
from sparsewood.inference._check import check_cap
from sparsewood.inference._cooled import TemperatureGradient

Unconverged = Literal["return", "warn", "raise"]
Weights = Literal["solver", "canonical"]


class Options(NamedTuple):
    """The options of the solvers, in the order of their parameters."""

    tol: float
    max_active: int | None
    max_iter: int | None
    max_support: int | None
    canonical: bool


def check_options(
    tol: float,
    max_active: int | None,
    max_iter: int | None,
    max_support: int | None,
    weights: Weights,
    gradient: TemperatureGradient = "constant",
) -> Options:
    """Require valid options that do not contradict each other."""
    tol = check_real("tol", tol)
    max_active = check_cap("max_active", max_active)
    max_iter = check_cap("max_iter", max_iter)
    max_support = check_cap("max_support", max_support)
    if weights not in get_args(Weights):
        raise ValueError(f'weights must be "solver" or "canonical", got {weights!r}')
    _check_support(max_support, max_active, max_iter, gradient)
    return Options(tol, max_active, max_iter, max_support, weights == "canonical")


def _check_support(
    max_support: int | None, max_active: int | None, max_iter: int | None, gradient: str
) -> None:
    """Reject `max_support` together with a cap that may stop before the optimum."""
    if gradient not in get_args(TemperatureGradient):
        raise ValueError(f'temperature_gradient must be "constant" or "scores", got {gradient!r}')
    if gradient == "scores" and torch.compiler.is_compiling():
        raise ValueError('temperature_gradient="scores": a compiled graph supports only "constant"')
    for name, cap in (("max_active", max_active), ("max_iter", max_iter)):
        if max_support is not None and cap is not None:
            raise ValueError(
                f"max_support={max_support} with {name}={cap}: max_support needs the optimum, "
                f"which {name} may miss; choose one"
            )


def check_solver(solver: str | None) -> None:
    """Require the name of a solver, or None."""
    if solver not in (None, "native", "generic"):
        raise ValueError(f'solver must be "native", "generic" or None, got {solver!r}')


def check_unconverged(choice: str) -> None:
    """Require a choice for unsolved instances that the call supports."""
    if choice not in get_args(Unconverged):
        raise ValueError(f'on_unconverged must be "return", "warn" or "raise", got {choice!r}')
    if choice != "return" and torch.compiler.is_compiling():
        raise ValueError(f'on_unconverged="{choice}": a compiled graph supports only "return"')
