"""SparseMAP: sparse posteriors over structures, with exact gradients."""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import torch
from torch import Tensor

from sparsewood._internal.part_lists import PartLists
from sparsewood._internal.transforms import is_transformed
from sparsewood.calls import count
from sparsewood.inference import generic, native
from sparsewood.inference._check import (
    Flat,
    check_any_sign,
    check_input,
    check_positive,
    check_temperature,
    no_structures,
)
from sparsewood.inference._cooled import TemperatureGradient, cooled
from sparsewood.inference._options import (
    Options,
    Unconverged,
    Weights,
    check_options,
    check_solver,
    check_unconverged,
)
from sparsewood.inference._solution import Solution, new_solution
from sparsewood.sparse_posterior import SparsePosterior
from sparsewood.status import Status, UnconvergedError, tally
from sparsewood.structures.base import OwnParts, Structure


def sparsemap(
    scores: Tensor,
    structure: Structure,
    *,
    lengths: Tensor | None = None,
    temperature: float | Tensor = 1.0,
    tol: float = 1e-9,
    max_active: int | None = None,
    max_iter: int | None = None,
    max_support: int | None = None,
    weights: Weights = "solver",
    temperature_gradient: TemperatureGradient = "constant",
    solver: Literal["native", "generic"] | None = None,
    on_unconverged: Unconverged = "return",
) -> SparsePosterior:
    r"""The SparseMAP posterior over `structure` for each instance of a batch.

    Solves, with `M` holding one column of parts per structure (0/1, or numbers),

        q* = argmax_{q in simplex}  <theta, M q> - 1/2 ||D M q||^2,     theta = scores / temperature

    (Niculae, Martins, Blondel & Cardie 2018, "SparseMAP: Differentiable Sparse Structured
    Inference", section 3) in float64 by the active set method. `D` selects the penalised parts: all
    parts, except the transitions of chains and segmentations by default. The marginals of penalised
    parts, `D M q*`, are unique. The weights need not be: see `weights`.

    Args:
        scores: (*batch, *parts), floating; the structure defines the parts. -inf forbids a part.
            Parts that the structure does not read, such as padding, may hold any value.
        structure: the family of structures, such as `DependencyTrees()`.
        lengths: (*batch,) or (*batch, d), the size of each instance. The last batch dimensions may
            be omitted if sizes do not vary along them: (B,) fits scores (B, heads, *parts).
            Default: all instances have full size.
        temperature: a positive number, or (*batch,) one per instance; differentiable. Lower
            temperatures give sparser posteriors.
        tol: tolerance on the duality gap, relative to the range of an instance's `theta` (largest
            minus smallest finite score; 1 if all are equal), and to the largest part of the MAP
            structure if parts are numbers. `converged` means that the gap, plus a
            bound on its float64 rounding error, is within `tol` times the range. This cannot be
            reached if the range is below about 1e-15 / tol. The native solver aims at a much
            smaller gap, as exact gradients need the complete support.
        max_active: maximum number of structures to keep, which bounds the cost of near-equal
            scores. The weights are optimal on the structures kept; `converged` is False if more
            were needed.
        max_iter: maximum number of quadratic programs; the last optimum reached is returned.
        max_support: maximum number of structures, reached by lowering the temperature. The result
            is exact SparseMAP, with its certificate, at the largest temperature T up to
            `temperature` such that no temperature below T has more structures; the posterior's
            `temperature` is T. The support need not grow with the temperature: in about a quarter
            of random dependency trees (10 to 40 words, 5 or 10 structures) a larger temperature, 4
            to 20 % above on average, has as few structures. If more than `max_support` structures
            tie for the best score, no temperature suffices: the result is that of `max_active` at
            the given temperature, with status CAPPED.
        weights: "solver": the weights that the solver finds; deterministic, but a small change of
            the scores may change them considerably. "canonical": a continuous function of the
            marginals, hence of the scores, equal for every solver, machine and device; the
            posterior's `canonical` says for which instances they were found.
        temperature_gradient: with `max_support`, "constant": derivatives treat the temperature
            found as a constant; "scores": as a function of the scores, and the posterior's
            `temperature` has a gradient. Compiled graphs support only "constant".
        solver: "native" or "generic"; default: native if the structure supports it.
        on_unconverged: what to do if an instance has no certificate: "return" it (see `status`),
            "warn" with a RuntimeWarning, or "raise" an `UnconvergedError`. Compiled graphs support
            only "return".

    Returns:
        A `SparsePosterior`. Weights and marginals have the dtype and device of `scores` and are
        twice differentiable with respect to `scores` and `temperature`.

    Raises:
        ValueError: bad shapes, dtypes or lengths; NaN or +inf among the scores that are read; an
            instance that has no structure left.
        UnconvergedError: an instance is not solved and `on_unconverged="raise"`.

    Example:
        >>> scores = torch.tensor([[[1.5, 0.0, 1.0], [0.0, 1.0, 0.0]]])
        >>> post = sp.sparsemap(scores, sp.DependencyTrees())
        >>> best = post.topk(2)
        >>> best.structures[0].tolist(), best.weights[0].tolist()
        ([[0, 1], [2, 0]], [0.875, 0.125])
    """
    check_unconverged(on_unconverged)
    options = check_options(tol, max_active, max_iter, max_support, weights, temperature_gradient)
    flat, found = solved(
        scores, structure, lengths, temperature, options, temperature_gradient, solver
    )
    post = _posterior(found, structure, flat)
    if on_unconverged != "return":
        _report(post, on_unconverged)
    return post


def solved(
    scores: Tensor,
    structure: Structure,
    lengths: Tensor | None,
    temperature: float | Tensor,
    options: Options,
    gradient: TemperatureGradient = "constant",
    solver: Literal["native", "generic"] | None = None,
) -> tuple[Flat, Solution]:
    """The checked input of `sparsemap`, and its solution."""
    batch, scores, lengths = flat = check_input(scores, structure, lengths)
    temperature = check_temperature(temperature, scores, batch)
    if options.canonical:
        check_any_sign('weights="canonical"', structure)
    solve = _pick(structure, solver)
    with batch:
        # A compiled graph cannot branch on values; the native solver checks them instead.
        in_graph = solve is native.solve and torch.compiler.is_compiling()
        if isinstance(temperature, Tensor):
            # The host does not synchronise with a GPU either, unless the solve reports an error.
            if not (solve is native.solve and (in_graph or scores.is_cuda)):
                check_positive(temperature)
            temperatures = temperature.double()
        else:
            temperatures = _same_temperature(temperature, scores)
        if scores.shape[0] == 0:
            found = _empty(scores, structure, temperatures)
        elif in_graph:
            found = solve(scores, structure, lengths, temperatures, *options, batch)
        elif options.max_support is None:
            found = _solve(solve, scores, structure, lengths, temperatures, *options)
        else:

            def lower(scores: Tensor, temperatures: Tensor) -> Solution:
                return _solve(solve, scores, structure, lengths, temperatures, *options)

            found = cooled(lower, scores, temperatures, structure.penalised(scores), gradient)
    count("map", found.calls)
    return flat, found


def _same_temperature(temperature: float, scores: Tensor) -> Tensor:
    """(B,) float64, the same for all instances; cached on a GPU."""
    kept = scores.is_cuda and not torch.compiler.is_compiling()
    if kept and not torch.cuda.is_current_stream_capturing():
        return _on_device(temperature, scores.device).expand(len(scores))
    return scores.new_full(scores.shape[:1], temperature, dtype=torch.float64)


@lru_cache(maxsize=64)
def _on_device(temperature: float, device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # so that other calls can reuse the tensor
        return torch.full((1,), temperature, dtype=torch.float64, device=device)


def _solve(
    solve: Callable[..., Solution], scores: Tensor, structure: Structure, *options: Any
) -> Solution:
    """`solve`; if it fails, errors about temperatures on a GPU take precedence."""
    try:
        return solve(scores, structure, *options)
    except ValueError:
        if scores.is_cuda and not is_transformed(scores):
            check_positive(options[1])
        raise


def _report(post: SparsePosterior, choice: Unconverged) -> None:
    """Warn about unsolved instances, or raise."""
    bad = (~post.converged).nonzero()
    if len(bad) == 0:
        return
    at = tuple(bad[0].tolist())
    first, reason = at[0] if len(at) == 1 else at, Status(int(post.status[at]))
    message = (
        f"sparsemap: {tally(post.status)}; the first that is not solved is instance {first}, "
        f"{reason} at a gap of {float(post.gap[at]):.1e}"
    )
    if choice == "raise":
        raise UnconvergedError(message)
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def _pick(structure: Structure, solver: str | None) -> Callable[..., Solution]:
    """The solve function named by `solver`, or the fastest one for the structure."""
    check_solver(solver)
    if solver == "native" and not structure.has_native_solver:
        raise ValueError(f'{structure} has no native solver: use solver="generic"')
    if solver == "generic" or not structure.has_native_solver:
        return generic.solve
    return native.solve


def _posterior(found: Solution, structure: Structure, flat: Flat) -> SparsePosterior:
    """The solution for (B, *parts) as a posterior with the batch shape."""
    batch, scores, lengths = flat
    shape = tuple(scores.shape[1:])
    return SparsePosterior(
        structure,
        found.structures,
        found.weights,
        batch.restore(found.sizes),
        shape,
        None if lengths is None else batch.restore(lengths),
        gap=batch.restore(found.gap),
        status=batch.restore(found.status),
        calls=batch.restore(found.calls),
        canonical=batch.restore(found.canonical),
        temperature=batch.restore(found.temperature),
        _marginals=batch.restore(found.marginals),
        _listed=part_lists(found, structure, shape),
    )


def part_lists(found: Solution, structure: Structure, shape: tuple[int, ...]) -> PartLists | None:
    """The structures as lists of their parts, if the solver made no tables of them."""
    left_out = isinstance(structure, OwnParts) and found.structures.shape[1:] == (0,)
    return PartLists(found.used, shape) if left_out else None


def _empty(scores: Tensor, structure: Structure, temperatures: Tensor) -> Solution:
    """The solution of an empty batch."""
    structures = no_structures(scores, structure)
    return new_solution(scores, structures.shape[1:])._replace(
        weights=scores.flatten(),  # connected to the graph of the scores, if any
        marginals=scores.clone(),
        structures=structures,
        temperature=temperatures.detach(),
    )
