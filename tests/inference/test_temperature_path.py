"""SparseMAP at every temperature, against solves at single temperatures."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import draw_scores
from tests.families import FAMILIES, batch_of
from tests.seats import Seats

TREES = sp.DependencyTrees()


def paths(scores: Tensor, structure: sp.Structure, **options) -> list[sp.TemperaturePath]:
    found = sp.temperature_path(scores, structure, **options)
    assert isinstance(found, list)
    return found


def check(path: sp.TemperaturePath, scores: Tensor, end: float) -> None:
    """It has no gaps, and equals `sparsemap` at the ends and in the middle of segments."""
    assert path.segments[0].begin == 0
    assert path.segments[-1].end == end
    counted = path.structure.penalised(scores[None])
    for before, after in zip(path.segments, path.segments[1:], strict=False):
        assert before.end == after.begin
    for segment in path.segments:
        assert segment.begin < segment.end
        assert (segment.weights >= 0).all()
        assert (segment.weights.sum(1) - 1).abs().max() < 1e-9
    temperatures = path.temperatures
    middle = (temperatures[1:] + temperatures[:-1]) / 2
    times = torch.cat([temperatures[1:], middle])
    sample = times[torch.linspace(0, len(times) - 1, min(len(times), 12)).long()]
    for t in sample.tolist():
        here = path.at(t)
        plain = sp.sparsemap(scores, path.structure, lengths=path.lengths, temperature=t)
        difference = here.marginals - plain.marginals
        difference = difference if counted is None else difference[counted]
        assert difference.abs().max() < 1e-9
        assert (here.weights > 0).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family(name: str) -> None:
    """Includes forbidden parts, padding, ties, equal, small and large scores."""
    scores, lengths = batch_of(FAMILIES[name])
    found = paths(scores, FAMILIES[name].structure, lengths=lengths, temperature=2.0)
    for path, table in zip(found, scores, strict=True):
        check(path, table, 2.0)


@settings(deadline=None, max_examples=25)
@given(
    n=st.integers(1, 6),
    seed=st.integers(0, 2**31),
    kind=st.sampled_from(["normal", "round", "sign", "tenth"]),
    end=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_ties_and_all(n: int, seed: int, kind: str, end: float) -> None:
    scores = 2 * draw_scores("normal", 1, (n, n + 1), seed)[0]
    kinds = {"round": scores.round(), "sign": scores.sign(), "tenth": (3 * scores).round() / 10}
    scores = kinds.get(kind, scores)
    path = sp.temperature_path(scores, TREES, temperature=end)
    assert isinstance(path, sp.TemperaturePath)
    check(path, scores, end)


def test_begins_with_the_best_structure() -> None:
    scores = draw_scores("normal", 1, (6, 7), seed=0)
    (path,) = paths(scores, TREES)
    first = path.at(0)
    assert torch.equal(first.structures, sp.map(scores, TREES).structures)
    assert first.weights.tolist() == [1.0]
    assert path.sizes[0] == 1
    assert path.segments[0].weights.tolist() == [[1.0], [1.0]]
    assert path.at(1.0).sizes.shape == ()


def test_structures_are_told_apart() -> None:
    """Pictures need to identify structures across segments."""
    (path,) = paths(draw_scores("normal", 1, (6, 7), seed=0), TREES)
    assert len(path.structures.unique(dim=0)) == len(path.structures)
    for before, after in zip(path.segments, path.segments[1:], strict=False):
        old = torch.zeros(len(path.structures), dtype=torch.float64)
        new = old.clone()
        old[before.support], new[after.support] = before.weights[1], after.weights[0]
        torch.testing.assert_close(old, new, rtol=0, atol=1e-9)


def test_of_a_simplex_it_is_known() -> None:
    scores = draw_scores("normal", 1, (5,), seed=0)
    ordered = scores[0].sort(descending=True).values
    expected = [float((ordered[:k] - ordered[k]).sum()) for k in range(5)]
    path = sp.temperature_path(scores[0], sp.Simplex(), temperature=50.0)
    assert isinstance(path, sp.TemperaturePath)
    assert path.temperatures.tolist() == pytest.approx([*expected, 50.0])
    assert path.sizes.tolist() == [1, 2, 3, 4, 5]


def test_any_structure() -> None:
    scores = draw_scores("normal", 2, (6,), seed=0)
    for path, table in zip(paths(scores, Seats(), temperature=3.0), scores, strict=True):
        check(path, table, 3.0)


def test_shapes_of_batches() -> None:
    scores = draw_scores("normal", 4, (3, 4), seed=0).reshape(2, 2, 3, 4)
    found = paths(scores, TREES)
    assert len(found) == 4
    alone = sp.temperature_path(scores[1, 0], TREES)
    assert isinstance(alone, sp.TemperaturePath)
    assert torch.equal(alone.temperatures, found[2].temperatures)
    assert paths(scores[:0], TREES) == []


def test_says_what_it_is_and_what_it_cost() -> None:
    scores = torch.tensor([[1.5, 0.0, 1.0], [0.0, 1.0, 0.0]])
    with sp.count_calls() as calls:
        path = sp.temperature_path(scores, TREES)
    assert isinstance(path, sp.TemperaturePath)
    assert calls.map == path.calls > 0
    assert repr(path).endswith("2 segments from 1 to 2 structures at temperature 1)")


def test_bad_input() -> None:
    scores = torch.zeros(2, 3)
    with pytest.raises(ValueError, match="temperature"):
        sp.temperature_path(scores, TREES, temperature=0.0)
    path = sp.temperature_path(scores, TREES, temperature=2.0)
    assert isinstance(path, sp.TemperaturePath)
    with pytest.raises(ValueError, match="expected at most 2.0, the end of the path, got 2.5"):
        path.at(2.5)
    scores[0, 0] = torch.nan
    with pytest.raises(ValueError, match=r"scores\[0, 0\] is nan"):
        sp.temperature_path(scores, TREES)
