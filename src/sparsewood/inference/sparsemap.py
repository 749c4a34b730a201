"""SparseMAP: the few structures that matter, with exact probabilities and gradients."""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from sparsewood._internal.batch import Batch
from sparsewood._internal.numbers import check_real
from sparsewood._internal.transforms import is_transformed
from sparsewood.calls import count
from sparsewood.inference import generic, native
from sparsewood.inference._check import (
    check_cap,
    check_input,
    check_positive,
    check_temperature,
    no_structures,
)
from sparsewood.inference._cooled import TemperatureGradient, cooled
from sparsewood.inference._solution import Solution, new_solution
from sparsewood.sparse_posterior import SparsePosterior
from sparsewood.status import Status, UnconvergedError, tally
from sparsewood.structures.base import Structure

Unconverged = Literal["return", "warn", "raise"]
Weights = Literal["solver", "canonical"]


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

    Solves, with `M` holding one 0/1 column of parts per structure,

        q* = argmax_{q in simplex}  <theta, M q> - 1/2 ||D M q||^2,     theta = scores / temperature

    (Niculae, Martins, Blondel & Cardie 2018, "SparseMAP: Differentiable Sparse Structured
    Inference", section 3) in float64 by the active set method. `D` keeps the penalised parts: all,
    or all but the transitions of chains and segmentations. The marginals of penalised parts,
    `D M q*`, are unique. The weights need not be when ambiguities are independent of each other:
    `weights` says which ones are meant.

    Args:
        scores: (*batch, *parts), floating; see the structure for what the parts are. -inf forbids
            a part. Parts that the structure does not read, padding among them, may hold anything.
        structure: the family of structures, such as `DependencyTrees()`.
        lengths: (*batch,) or (*batch, d), the size of each instance. Those of sentences, (B,), also
            serve scores (B, heads, *parts): the last batch dimensions may be left out where all
            instances along them have the same size. Default: all have full size.
        temperature: a positive number, or (*batch,) one per instance; differentiable. Lower is
            sparser.
        tol: the largest duality gap, relative to the range of an instance's `theta` (largest less
            smallest finite score; 1 where all are equal). `converged` says that the gap, with what
            float64 may hide of it added, is within `tol` times the range: where the range is below
            some 1e-15 / tol that is out of reach. The native solver aims far lower: the support
            must be complete for exact gradients.
        max_active: keep at most so many structures, which bounds what near-equal scores cost. The
            weights are optimal on the structures kept; `converged` is False where more were needed.
        max_iter: solve at most so many quadratic programs, and return the last optimum reached.
        max_support: keep at most so many structures by lowering the temperature: the answer is
            exact SparseMAP, with its certificate, at the largest temperature up to the one given
            below which there are never more; the posterior's `temperature` says which. Their
            number need not grow with the temperature: a larger one with as few exists in about a
            quarter of random dependency trees (10 to 40 words, 5 or 10 structures), on average 4
            to 20 % above. Where more structures than that score best, no temperature suffices: the
            answer is that of `max_active` at the temperature given, its status CAPPED.
        weights: "solver", those that the solver comes upon: the same scores give the same ones
            each time, but scores a little different may give quite different ones. "canonical": a
            continuous function of the marginals, hence of the scores, the same for every solver,
            machine and device; `canonical` of the posterior says where that succeeded.
        temperature_gradient: with `max_support`, "constant": derivatives take the temperature
            found for a constant; "scores": for the function of the scores that it is, and the
            posterior's `temperature` has a gradient too. Compiled graphs know "constant" alone.
        solver: "native" or "generic"; default: native where the structure has it.
        on_unconverged: what to do with instances that have no certificate: "return" them, `status`
            says which; "warn", a RuntimeWarning; or "raise" an `UnconvergedError`. Compiled graphs
            return.

    Returns:
        A `SparsePosterior`. Weights and marginals have the dtype and device of `scores` and are
        differentiable, twice too, with respect to `scores` and `temperature`.

    Raises:
        ValueError: bad shapes, dtypes or lengths; NaN or +inf among the scores that are read; an
            instance that has no structure left.
        UnconvergedError: with `on_unconverged="raise"`, an instance that is not solved.

    Example:
        >>> scores = torch.tensor([[[1.5, 0.0, 1.0], [0.0, 1.0, 0.0]]])
        >>> post = sp.sparsemap(scores, sp.DependencyTrees())
        >>> best = post.topk(2)
        >>> best.structures[0].tolist(), best.weights[0].tolist()
        ([[0, 1], [2, 0]], [0.875, 0.125])
    """
    batch, scores, lengths = check_input(scores, structure, lengths)
    temperature = check_temperature(temperature, scores, batch)
    tol = check_real("tol", tol)
    max_active = check_cap("max_active", max_active)
    max_iter = check_cap("max_iter", max_iter)
    max_support = check_cap("max_support", max_support)
    check_weights(weights)
    check_support(max_support, max_active, max_iter, temperature_gradient)
    check_unconverged(on_unconverged)
    solve = _pick(structure, solver)
    with batch:
        # A compiled graph cannot branch on values. The native solver looks where it reads them.
        in_graph = solve is native.solve and torch.compiler.is_compiling()
        if isinstance(temperature, Tensor):
            # Nor should the host wait for a GPU: it looks when something is wrong.
            if not (solve is native.solve and (in_graph or scores.is_cuda)):
                check_positive(temperature)
            temperatures = temperature.double()
        else:
            temperatures = _same_temperature(temperature, scores)
        caps = max_active, max_iter, max_support
        rest = tol, *caps, weights == "canonical"
        if scores.shape[0] == 0:
            found = _empty(scores, structure, temperatures)
        elif in_graph:
            found = solve(scores, structure, lengths, temperatures, *rest, batch)
        elif max_support is None:
            found = _solve(solve, scores, structure, lengths, temperatures, *rest)
        else:

            def lower(scores: Tensor, temperatures: Tensor) -> Solution:
                return _solve(solve, scores, structure, lengths, temperatures, *rest)

            penalised = structure.penalised(scores)
            found = cooled(lower, scores, temperatures, penalised, temperature_gradient)
    count("map", found.calls)
    post = _posterior(found, scores, structure, lengths, batch)
    if on_unconverged != "return":
        _report(post, on_unconverged)
    return post


def _same_temperature(temperature: float, scores: Tensor) -> Tensor:
    """(B,) float64, the same for all; on a GPU without a launch."""
    kept = scores.is_cuda and not torch.compiler.is_compiling()
    if kept and not torch.cuda.is_current_stream_capturing():
        return _on_device(temperature, scores.device).expand(len(scores))
    return scores.new_full(scores.shape[:1], temperature, dtype=torch.float64)


@lru_cache(maxsize=64)
def _on_device(temperature: float, device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # for calls that are not in it, too
        return torch.full((1,), temperature, dtype=torch.float64, device=device)


def _solve(
    solve: Callable[..., Solution], scores: Tensor, structure: Structure, *options: Any
) -> Solution:
    """`solve`; where a temperature on a GPU is wrong, that comes before what else is."""
    try:
        return solve(scores, structure, *options)
    except ValueError:
        if scores.is_cuda and not is_transformed(scores):
            check_positive(options[1])
        raise


def check_solver(solver: str | None) -> None:
    """One of the two solvers, or None."""
    if solver not in (None, "native", "generic"):
        raise ValueError(f'solver must be "native", "generic" or None, got {solver!r}')


def check_weights(weights: str) -> None:
    """One of the two kinds of weights."""
    if weights not in get_args(Weights):
        raise ValueError(f'weights must be "solver" or "canonical", got {weights!r}')


def check_support(
    max_support: int | None, max_active: int | None, max_iter: int | None, gradient: str
) -> None:
    """A cap on the support, which needs the optimum, goes with none that gives it up."""
    if gradient not in get_args(TemperatureGradient):
        raise ValueError(f'temperature_gradient must be "constant" or "scores", got {gradient!r}')
    if gradient == "scores" and torch.compiler.is_compiling():
        raise ValueError('temperature_gradient="scores": a compiled graph knows "constant" alone')
    for name, cap in (("max_active", max_active), ("max_iter", max_iter)):
        if max_support is not None and cap is not None:
            raise ValueError(
                f"max_support={max_support} with {name}={cap}: the one keeps the certificate, the "
                "other gives it up; choose one"
            )


def check_unconverged(choice: str) -> None:
    """One of the three ways to deal with what is not solved."""
    if choice not in get_args(Unconverged):
        raise ValueError(f'on_unconverged must be "return", "warn" or "raise", got {choice!r}')
    if choice != "return" and torch.compiler.is_compiling():
        raise ValueError(f'on_unconverged="{choice}": a compiled graph can only "return"')


def _report(post: SparsePosterior, choice: Unconverged) -> None:
    """Warn of the instances that are not solved, or raise."""
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
    """The solve function that `solver` names, or the fastest the structure has."""
    check_solver(solver)
    if solver == "native" and structure.native is None:
        raise ValueError(f'{structure} has no native solver: use solver="generic"')
    if solver == "generic" or structure.native is None:
        return generic.solve
    return native.solve


def _posterior(
    found: Solution, scores: Tensor, structure: Structure, lengths: Tensor | None, batch: Batch
) -> SparsePosterior:
    """What was found for (B, *parts), in the shape of the batch."""
    return SparsePosterior(
        structure,
        found.structures,
        found.weights,
        batch.restore(found.sizes),
        tuple(scores.shape[1:]),
        None if lengths is None else batch.restore(lengths),
        gap=batch.restore(found.gap),
        status=batch.restore(found.status),
        calls=batch.restore(found.calls),
        canonical=batch.restore(found.canonical),
        temperature=batch.restore(found.temperature),
        _marginals=batch.restore(found.marginals),
    )


def _empty(scores: Tensor, structure: Structure, temperatures: Tensor) -> Solution:
    """What is found for no instances."""
    structures = no_structures(scores, structure)
    return new_solution(scores, structures.shape[1:])._replace(
        weights=scores.flatten(),  # with a graph, if the scores are part of one
        marginals=scores.clone(),
        structures=structures,
        temperature=temperatures.detach(),
    )
