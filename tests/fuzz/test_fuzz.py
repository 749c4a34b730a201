"""20,000 deterministic fuzzed calls. More: `python -m tests.fuzz --calls N --seed S`."""

from typing import Any

import pytest
from torch import Tensor

import sparsewood as sp
from tests.full import some_quick
from tests.fuzz import run as cases
from tests.fuzz.families import FAMILIES
from tests.fuzz.run import CALLS, run

SEED = 0
SHARES = 10
CALLS_OF_A_SHARE = 2000


@pytest.mark.parametrize("share", some_quick(range(SHARES), 0, 1))
def test_no_promise_is_broken(share: int) -> None:
    start = share * CALLS_OF_A_SHARE
    tally = run(SEED, range(start, start + CALLS_OF_A_SHARE))
    assert sum(tally.calls.values()) == CALLS_OF_A_SHARE
    assert set(tally.calls) >= set(CALLS) - {"sample-matchings"}
    assert not tally.failures, tally.report(SEED)


def test_a_broken_promise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An oracle that returns the worst structure, and weights that sum to 0.999."""
    better, solve = sp.Simplex.argmax, sp.sparsemap

    def worst(self: sp.Simplex, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        return better(self, -scores, lengths)

    def short(*args: Any, **kwargs: Any) -> sp.SparsePosterior:
        post = solve(*args, **kwargs)
        post.weights.data.mul_(0.999)
        return post

    monkeypatch.setattr(sp.Simplex, "argmax", worst)
    monkeypatch.setattr(sp, "sparsemap", short)
    monkeypatch.setattr(cases, "FAMILIES", {"simplex": FAMILIES["simplex"]})
    monkeypatch.setattr(cases, "_able", cases._able.__wrapped__)
    kinds = {(call, kind) for call, kind, _ in run(SEED, range(200)).failures}
    assert ("map", "not the best") in kinds
    assert ("sparsemap", "weights do not sum to 1") in kinds
