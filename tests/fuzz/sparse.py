"""`sparsemap`: recomputes the certificate in extended precision from the result."""

from typing import Any, Literal

import numpy as np
import torch

import sparsewood as sp
from tests.fuzz.attempt import attempt, backward, given, number, seeded
from tests.fuzz.case import BrokenError, Case
from tests.fuzz.members import EPSILON, Instance, Long, Longs
from tests.fuzz.values import CONTINUOUS

Solver = Literal["native", "generic"]
Options = dict[str, Any]


def check_native(case: Case) -> None:
    solve(case, _draw_options(case))


def check_generic(case: Case) -> None:
    solve(case, {**_draw_options(case), "solver": "generic"})


def _draw_options(case: Case) -> Options:
    """Caps and tolerances, most of the time none."""
    rng, options = case.rng, {}
    if rng.random() < 0.15:
        options["tol"] = float(rng.choice([0.0, 1e-12, 1e-6, 1e-3, 1.0]))
    if rng.random() < 0.15:
        options["max_active"] = int(rng.choice([1, 2, 3, 10, 1000]))
    if rng.random() < 0.1:
        options["max_iter"] = int(rng.choice([1, 2, 5, 1000]))
    # A temperature below the smallest normal number could not be represented exactly.
    free = case.wrong is None and (case.temperatures > 1e-290).all()
    if rng.random() < 0.15 and free and not options.keys() & {"max_active", "max_iter"}:
        options["max_support"] = int(rng.choice([1, 2, 3, 10, 1000]))
    if rng.random() < 0.25 and not case.family.structure.costs_only:
        options["weights"] = "canonical"
    return options


class Solved:
    """The result for a batch, and the weights of each instance by index of structure."""

    def __init__(self, post: sp.SparsePosterior, rows: list["Row"]) -> None:
        self.post = post
        self.rows = rows


class Row:
    """The result for one instance: indices of structures, weights, marginals."""

    def __init__(self, one: Instance, support: list[int], weights: Longs) -> None:
        self.one = one
        self.support = support
        self.weights = weights
        self.u: Longs = weights @ one.members.long[support]


def solve(case: Case, options: Options) -> Solved:
    """`sparsemap`, checked."""
    options = {**given(case), **options}
    post = attempt(case.wrong, lambda: sp.sparsemap(case.scores, case.family.structure, **options))
    if post.marginals.dtype != case.scores.dtype or post.weights.dtype != case.scores.dtype:
        raise BrokenError("the dtype is not that of the scores", post.weights.dtype)
    if len(post.sizes) != len(case) or int(post.sizes.sum()) != len(post.structures):
        raise BrokenError("sizes do not add up", post.sizes.tolist())
    events, weights = post.structures.numpy(), number(post.weights)
    marginals, gaps = number(post.marginals.flatten(1)), number(post.gap)
    rows, start = [], 0
    for b, one in enumerate(_answered(case, post, options)):
        stop = start + int(post.sizes[b])
        row = _read(one, events[start:stop], weights[start:stop], case.epsilon)
        _check_marginals(row, marginals[b], case.epsilon)
        _check_certificate(case, row, float(gaps[b]), sp.Status(int(post.status[b])), options)
        rows.append(row)
        start = stop
    return Solved(post, rows)


def _answered(case: Case, post: sp.SparsePosterior, options: Options) -> list[Instance]:
    """The instances at the temperatures of their solutions."""
    given, found = case.temperatures, number(post.temperature)
    if "max_support" not in options:
        if not np.array_equal(found, np.asarray(given, float)):
            raise BrokenError("the temperature is not the one given", found.tolist())
        return case.instances
    if not ((found > 0) & (found <= given)).all():
        raise BrokenError("the temperature is not between 0 and the one given", found.tolist())
    return [
        case.instance(b, np.where(one.forbidden, -np.inf, one.theta) * Long(given[b]) / Long(t))
        for b, (one, t) in enumerate(zip(case.instances, found, strict=True))
    ]


def _read(one: Instance, events: np.ndarray, weights: np.ndarray, epsilon: float) -> Row:
    support = [one.members.find(event) for event in events]
    if None in support:
        raise BrokenError("a structure is no member", events[support.index(None)].tolist())
    known = [k for k in support if k is not None]
    if len(set(known)) != len(known) or not known:
        raise BrokenError("structures are not distinct", events.tolist())
    if not one.usable[known].all():
        raise BrokenError("a structure uses a forbidden part", events[~one.usable[known]].tolist())
    # A weight may underflow to 0 in a 16-bit dtype.
    if not (weights >= 0).all() or (epsilon == EPSILON and not (weights > 0).all()):
        raise BrokenError("weights are not positive", weights.tolist())
    if not abs(weights.sum() - 1) <= 4 * epsilon * len(known):
        raise BrokenError("weights do not sum to 1", weights.tolist())
    return Row(one, known, weights.astype(Long) / weights.sum())


def _check_marginals(row: Row, marginals: np.ndarray, epsilon: float) -> None:
    off = np.abs(marginals - row.u).max()
    if not off <= 8 * epsilon * len(row.support) * row.one.members.largest:
        raise BrokenError("marginals are not those of the weights", off)


def _check_certificate(
    case: Case, row: Row, reported: float, status: sp.Status, options: Options
) -> None:
    one, tol = row.one, options.get("tol", 1e-9)
    converged = status == sp.Status.SOLVED
    true = one.gap(row.u)
    noise = one.noise
    if case.epsilon > EPSILON:  # weights and marginals were rounded
        size = one.members.slots * one.members.largest
        noise += 2 * case.epsilon * size * (one.magnitude + one.members.slots)
    if not converged:  # the scores were tilted to break ties
        noise += 2e-12 * one.members.slots
    detail = f"true gap {true}, reported {reported}, unit {one.unit}, noise {noise}"
    if not reported >= 0:
        raise BrokenError("the gap is negative or NaN", detail)
    if not abs(true - reported) <= noise:
        raise BrokenError("the gap reported is not the true one", detail)
    if converged and not true <= tol * one.unit + noise:
        raise BrokenError("converged, but the gap is larger than tol * range", detail)
    if len(row.support) > options.get("max_active", len(row.support)):
        raise BrokenError("more structures than max_active", len(row.support))
    if len(row.support) > options.get("max_support", len(row.support)):
        raise BrokenError("more structures than max_support", len(row.support))
    capped = options.keys() & {"max_active", "max_iter", "max_support"}
    if status == sp.Status.CAPPED and not capped:
        raise BrokenError("capped by nothing", detail)
    if status == sp.Status.STALLED and tol * one.unit / one.members.unit > noise:
        raise BrokenError("stalled, for no reason", detail)
    counted = one.members.long[row.support] * one.members.penalised
    level = one.totals[row.support] - counted @ row.u
    if capped and not float(level.max() - level.min()) <= 4 * noise + tol * one.unit:
        raise BrokenError("weights are not optimal on the support", level)


def check_posterior(case: Case) -> None:
    """Checks of the methods of the result."""
    solved = solve(case, {})
    post, rng = solved.post, case.rng
    if len(case) == 0:
        return
    k = int(rng.integers(1, 5))
    drawn = attempt(None, lambda: post.sample(k, generator=seeded(case)))
    best = attempt(None, lambda: post.topk(k))
    entropy = number(attempt(None, post.entropy))
    picked = [int(rng.integers(len(one.members))) for one in case.instances]
    events = np.stack(
        [one.members.events[k] for one, k in zip(case.instances, picked, strict=True)]
    )
    log_prob = number(attempt(None, lambda: post.log_prob(torch.from_numpy(events))))
    for b, row in enumerate(solved.rows):
        find = row.one.members.find
        weight = dict(zip(row.support, row.weights.astype(float), strict=True))
        close = 1e-12 + 8 * case.epsilon * len(weight)
        if any(find(event) not in weight for event in drawn[:, b].numpy()):
            raise BrokenError("a sample is not in the support", drawn[:, b].tolist())
        wanted = -sum(w * np.log(w) for w in weight.values() if w > 0)
        if not abs(entropy[b] - wanted) <= close * (1 + wanted) * 20:
            raise BrokenError("the entropy is off", f"{entropy[b]}, expected {wanted}")
        truth = weight.get(picked[b], 0.0)
        if not abs(np.exp(log_prob[b]) - truth) <= close:
            raise BrokenError("log_prob is off", f"{log_prob[b]}, expected the log of {truth}")
        mode = find(post.mode[b].numpy())
        if not weight.get(-1 if mode is None else mode, 0.0) >= max(weight.values()) - close:
            raise BrokenError("the mode is not the heaviest", post.mode[b].tolist())
        ranked = sorted(weight.values(), reverse=True)[:k] + [0.0] * max(0, k - len(weight))
        if not np.abs(number(best.weights[b]) - ranked).max() <= close:
            raise BrokenError("topk is not in order of weight", number(best.weights[b]))


def check_gradient(case: Case) -> None:
    """The product with the Jacobian, from the support: M J M^T v / T, and v^T J M^T / T."""
    case.scores = case.scores.detach().requires_grad_()
    generic = case.rng.random() < 0.1
    solved = solve(case, {"solver": "generic"} if generic else {})
    post = solved.post
    by_parts = torch.from_numpy(case.rng.standard_normal(case.scores.shape)).to(post.marginals)
    by_weights = torch.from_numpy(case.rng.standard_normal(len(post.weights))).to(post.weights)
    found = backward(case, [post.marginals, post.weights], [by_parts, by_weights])
    parts, weights, start = number(by_parts.flatten(1)), number(by_weights), 0
    for b, row in enumerate(solved.rows):
        stop = start + len(row.support)
        truth = _vjp(row, parts[b], weights[start:stop]) / case.temperatures[b]
        start = stop
        size = (np.abs(parts[b]).sum() + np.abs(weights).sum()) / case.temperatures[b]
        limits = torch.finfo(case.scores.dtype)
        if not size < limits.max:
            continue
        close = (1e-9 + 32 * case.epsilon) * size + limits.smallest_normal
        if not np.abs(found[b] - truth).max() <= close:
            raise BrokenError(
                "the gradient is off", f"{found[b].tolist()}, expected {truth.tolist()}"
            )
        if case.kinds[b] in CONTINUOUS and case.epsilon == EPSILON:
            _check_complete(row)


def _vjp(row: Row, by_parts: np.ndarray, by_weights: np.ndarray) -> np.ndarray:
    M = row.one.members.columns[row.support]
    counted = M * row.one.members.penalised
    k = len(M)
    system = np.ones((k + 1, k + 1))
    system[:k, :k], system[k, k] = counted @ M.T, 0.0
    right = np.append(by_weights + M @ by_parts, 0.0)
    return np.linalg.solve(system, right)[:k] @ M


def _check_complete(row: Row) -> None:
    """Without ties the support spans the face of the optimum, so the gradient is that of u*.

    Only if the face is well separated: no structure is nearly on it, no weight nearly zero.
    """
    one = row.one
    slope = one.theta - np.where(one.members.penalised, row.u, Long(0))
    slack = (slope @ row.u - one.members.long @ slope)[one.usable].astype(float)
    near = 1e-3 * min(1.0, one.range)
    face = slack <= 1e-9 * one.range + one.noise
    if one.noise > 1e-7 * one.range or (slack[~face] <= near).any() or row.weights.min() < 1e-4:
        return
    counted = one.members.columns * one.members.penalised
    if _rank(counted[one.usable][face]) != _rank(counted[row.support]):
        raise BrokenError("the support does not span the face", row.support)


def _rank(points: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(points - points[0])) if len(points) > 1 else 0
