"""`marginals` against sums over all structures in extended precision."""

from typing import Any

import numpy as np
import torch

import sparsewood as sp
from tests.fuzz.attempt import attempt, backward, given, number, seeded
from tests.fuzz.case import BrokenError, Case, draw_case
from tests.fuzz.members import Instance


def _distribution(case: Case) -> sp.StructureDistribution:
    wrong = case.wrong if case.family.summed else "a family without a sum"
    return attempt(wrong, lambda: sp.marginals(case.scores, case.family.structure, **given(case)))


def check_sums(case: Case) -> None:
    dist = _distribution(case)
    log_z, mu = number(dist.log_partition), number(dist.marginals.flatten(1))
    entropy = number(attempt(None, dist.entropy))
    if dist.marginals.dtype != case.scores.dtype:
        raise BrokenError("the dtype is not that of the scores", dist.marginals.dtype)
    for b, one in enumerate(case.instances):
        _check_log_z(case, one, log_z[b])
        _check_marginals(case, one, mu[b])
        noise = one.sums_noise(case.epsilon * (1 + one.entropy))
        if not abs(entropy[b] - one.entropy) <= noise:
            raise BrokenError("the entropy is off", f"{entropy[b]}, expected {one.entropy}")
        if not 0 <= entropy[b] <= np.log(len(one.members)) + noise:
            raise BrokenError("the entropy is out of its bounds", entropy[b])


def _check_log_z(case: Case, one: Instance, found: float) -> None:
    wanted = float(one.log_z)
    if abs(wanted) > torch.finfo(case.scores.dtype).max:
        return
    close = one.noise + (1e-12 + 2 * case.epsilon) * abs(wanted) + 1e-10 + case.smallest
    if not abs(found - wanted) <= close:
        raise BrokenError("log_partition is off", f"{found}, expected {wanted}")


def _check_marginals(case: Case, one: Instance, found: np.ndarray) -> None:
    off = one.members.off_hull(found)
    if not off <= 1e-6 + 8 * case.epsilon * one.members.slots:
        raise BrokenError("marginals are outside the polytope", f"by {off}")
    if not np.abs(found - one.marginals.astype(float)).max() <= one.sums_noise(case.epsilon):
        raise BrokenError("marginals are off", f"{found}, expected {one.marginals}")
    if (found[one.forbidden] != 0).any():
        raise BrokenError("a forbidden part has a probability", found)


def check_samples(case: Case) -> None:
    """Samples are plausible members, and the mode is the best member."""
    dist = _distribution(case)
    k = int(case.rng.integers(1, 4))
    drawn = attempt(None, lambda: dist.sample(k, generator=seeded(case))).numpy()
    mode = attempt(None, lambda: dist.mode).numpy()
    for b, one in enumerate(case.instances):
        check_drawn(one, drawn[:, b])
        found = one.members.find(mode[b])
        if found is None or not one.totals.max() - one.totals[found] <= one.noise:
            raise BrokenError("the mode is not the best", mode[b].tolist())


def check_drawn(one: Instance, events: np.ndarray) -> None:
    """Each is a member whose probability is not negligible."""
    for event in events:
        found = one.members.find(event)
        if found is None:
            raise BrokenError("a sample is no member", event.tolist())
        if not one.log_probs[found] >= -45 - one.sums_noise(0):
            raise BrokenError("a sample is impossible", f"{event.tolist()}, {one.log_probs[found]}")


def check_log_prob(case: Case) -> None:
    dist = _distribution(case)
    if len(case) == 0:
        return
    picked = [int(case.rng.integers(len(one.members))) for one in case.instances]
    events = [one.members.events[k] for one, k in zip(case.instances, picked, strict=True)]
    found = number(attempt(None, lambda: dist.log_prob(torch.from_numpy(np.stack(events)))))
    for b, one in enumerate(case.instances):
        wanted = float(one.log_probs[picked[b]])
        close = one.sums_noise(0) + one.noise + 2 * case.epsilon * abs(wanted) + case.smallest
        if abs(wanted) > torch.finfo(case.scores.dtype).max:
            continue
        if not abs(found[b] - wanted) <= close:
            raise BrokenError("log_prob is off", f"{found[b]}, expected {wanted}")


def check_divergence(case: Case) -> None:
    """KL to a second distribution over the same structures, and to itself."""
    dist = _distribution(case)
    other = draw_case(case.rng, case.family, tempered=False)
    alike = other.inner == case.inner and other.outer == case.outer and other.wrong is None
    pairs = [(dist, case.instances)]
    if alike and other.scores.dtype == case.scores.dtype:
        pairs.append((_distribution(other), other.instances))
    for right, instances in pairs:
        found = number(attempt(None, lambda right=right: dist.kl(right)))
        for b, (p, q) in enumerate(zip(case.instances, instances, strict=True)):
            wanted = _kl(p, q)
            if wanted > torch.finfo(case.scores.dtype).max:
                continue
            close = p.sums_noise(case.epsilon) + q.sums_noise(0) + q.noise
            if not abs(found[b] - wanted) <= close + 2 * case.epsilon * wanted:
                raise BrokenError("kl is off", f"{found[b]}, expected {wanted}")


def _kl(p: Instance, q: Instance) -> float:
    possible = p.probs > 0
    if (q.log_probs[possible] == -np.inf).any():
        return float("inf")
    return float((p.probs[possible] * (p.log_probs - q.log_probs)[possible]).sum())


def check_sums_gradient(case: Case) -> None:
    """The gradient of log Z is the marginals, and that of the marginals is the covariance."""
    case.scores = case.scores.detach().requires_grad_()
    dist = _distribution(case)
    vector = torch.from_numpy(case.rng.standard_normal(case.scores.shape))
    outputs = [dist.log_partition, dist.marginals]
    given_ = [torch.ones_like(outputs[0]), vector.to(outputs[1])]
    found, v = backward(case, outputs, given_), number(given_[1].flatten(1))
    for b, one in enumerate(case.instances):
        along = one.members.long @ v[b]
        mean = one.probs @ along
        truth = one.marginals + (one.probs * (along - mean)) @ one.members.long
        truth = (truth / case.temperatures[b]).astype(float)
        size = (1 + np.abs(v[b]).sum()) / case.temperatures[b]  # 1 for log Z
        if max(size, np.abs(truth).max()) > torch.finfo(case.scores.dtype).max:
            continue
        close = one.sums_noise(4 * case.epsilon) * max(1, size)
        if not np.abs(found[b] - truth).max() <= 10 * close:
            raise BrokenError(
                "the gradient is off", f"{found[b].tolist()}, expected {truth.tolist()}"
            )


def check_matchings(case: Case) -> None:
    """`sample_matchings` draws plausible members."""
    structure: Any = case.family.structure
    wrong = case.wrong if isinstance(structure, sp.Matching) else "a family that is no matching"
    k = int(case.rng.integers(1, 4))
    options = given(case)
    drawn = attempt(
        wrong,
        lambda: sp.sample_matchings(case.scores, structure, k, generator=seeded(case), **options),
    )
    for b, one in enumerate(case.instances):
        check_drawn(one, drawn[:, b].numpy())
