"""The k best structures, in addition to the conformance kit."""

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.base import NativeStructure
from sparsewood.testing import draw_scores
from tests.families import FAMILIES, batch_of
from tests.full import some_quick
from tests.seats import Seats

RANKED = [name for name, one in FAMILIES.items() if one.structure.has_kbest]
every_family = pytest.mark.parametrize("name", RANKED)
# No structure of these has all parts of another, and some more.
MEDIUM: dict[str, tuple[NativeStructure, tuple[int, ...]]] = {
    "trees": (sp.DependencyTrees(), (11, 12)),
    "single root": (sp.DependencyTrees(single_root=True), (11, 12)),
    "projective": (sp.DependencyTrees(projective=True), (11, 12)),
    "projective single root": (sp.DependencyTrees(True, True), (11, 12)),
    "two children": (sp.DependencyTrees(True, max_children=2), (9, 10)),
    "labelled": (sp.LabelledDependencyTrees(), (8, 9, 3)),
    "labelled projective": (sp.LabelledDependencyTrees(projective=True), (8, 9, 3)),
    "binary": (sp.BinaryTrees(), (11, 11)),
    "labelled binary": (sp.BinaryTrees(labelled=True), (8, 8, 3)),
    "chain": (sp.LinearChain(), (15, 4, 5)),
    "segments": (sp.SemiMarkov(4), (13, 3, 7)),
    "matching": (sp.Matching(), (10, 10)),
    "rectangle": (sp.Matching(), (12, 9)),
    "spanning": (sp.SpanningTrees(), (10, 10)),
    "subset": (sp.Subset(6), (16,)),
}
FORCED, BANNED = 1e4, -1e7  # outweigh all other parts


def by_the_oracle(scores: Tensor, structure: NativeStructure, k: int) -> Tensor:
    """The k best scores of one instance (*parts) by Lawler's partition into parts: (k,)."""
    plain, best = scores.flatten(), []
    waiting: list[tuple[float, Tensor, Tensor, list[int]]] = []

    def keep(tables: list[Tensor], forced: list[list[int]]) -> None:
        found = sp.map(torch.stack(tables).unflatten(1, scores.shape), structure).structures
        parts = structure.indicator(found, tuple(scores.shape)).flatten(1)
        for row, table, wanted in zip(parts, tables, forced, strict=True):
            chosen = row.nonzero().flatten()
            if set(wanted) <= set(chosen.tolist()) and (table[chosen] > BANNED / 2).all():
                waiting.append((float(plain[chosen].sum()), chosen, table, wanted))

    keep([plain], [[]])
    while len(best) < k and waiting:
        at = max(range(len(waiting)), key=lambda piece: waiting[piece][0])
        total, chosen, table, forced = waiting.pop(at)
        best.append(total)
        tables, wanted = [], []
        for part in set(chosen.tolist()) - set(forced):
            tables.append(table.clone())
            tables[-1][part] = BANNED
            wanted.append(forced)
            table = table.clone()
            table[part] += FORCED
            forced = [*forced, part]
        if tables:
            keep(tables, wanted)
    return torch.tensor(best, dtype=torch.float64)


def test_the_first_is_map_and_padding_is_kept() -> None:
    scores = draw_scores("normal", 3, (9, 10), seed=1)
    lengths = torch.tensor([9, 4, 1])
    trees = sp.DependencyTrees(projective=True)
    found = sp.kbest(scores, trees, 5, lengths=lengths)
    best = sp.map(scores, trees, lengths=lengths)
    assert torch.equal(found.structures[:, 0], best.structures)
    torch.testing.assert_close(found.scores[:, 0], best.scores)
    for tree in found.structures.unbind(1):
        assert trees.contains(tree, (9, 10), lengths).all()
    assert found.scores[2].tolist()[1:] == [-torch.inf] * 4


def test_longer_sentences_fall_in_order() -> None:
    scores = draw_scores("normal", 2, (25, 26), seed=2)
    found = sp.kbest(scores, sp.DependencyTrees(), 40)
    assert (found.scores.diff(dim=-1) <= 1e-12).all()
    for structures in found.structures:
        assert len(structures.unique(dim=0)) == 40


@pytest.mark.parametrize("name", some_quick(MEDIUM, "trees", "projective", "binary", "rectangle"))
def test_as_many_calls_of_the_oracle_find_the_same(name: str) -> None:
    structure, shape = MEDIUM[name]
    reads = structure.reads(torch.zeros(1, *shape), None)
    for seed, kind in enumerate(("normal", "forbidden")):
        scores = draw_scores(kind, 1, shape, seed)
        if kind == "forbidden":  # a structure is left
            there = sp.map(draw_scores("normal", 1, shape, seed), structure).structures
            scores = torch.where(structure.indicator(there, shape) > 0, 0.0, scores)
        expected = by_the_oracle(scores.masked_fill(~reads, 0)[0], structure, 25)
        found = sp.kbest(scores, structure, 25).scores[0, : len(expected)]
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("structure", "size"),
    [
        (sp.Matching(), (6, 6)),
        (sp.Matching(), (4, 6)),
        (sp.Matching(partial=True), (5, 4)),
        (sp.SpanningTrees(), (6,)),
    ],
    ids=["square", "rectangle", "partial", "spanning"],
)
@pytest.mark.parametrize("kind", ["normal", "integers", "forbidden"])
def test_exchanges_of_exchanges(
    structure: NativeStructure, size: tuple[int, ...], kind: str
) -> None:
    """Hundreds of structures, each an exchange away from another one: those of a list of all."""
    shape = size if len(size) == 2 else (*size, *size)
    every = structure.enumerate(*size)
    scores = draw_scores(kind, 3, shape, seed=8)
    parts = structure.indicator(every, shape).flatten(1)
    there = torch.where(parts.bool(), scores.flatten(1)[:, None], 0).sum(-1)
    k = min(400, len(every))
    found = sp.kbest(scores, structure, k)
    torch.testing.assert_close(found.scores, there.topk(k).values, rtol=0, atol=1e-10)
    for structures, kept in zip(found.structures, found.scores.isfinite(), strict=True):
        assert len(structures[kept].unique(dim=0)) == kept.sum()


@every_family
def test_among_equals_map_is_the_first(name: str) -> None:
    family = FAMILIES[name]
    for kind in ("equal", "integers"):
        scores = draw_scores(kind, 4, family.shape, seed=3)
        found = sp.kbest(scores, family.structure, 6)
        best = sp.map(scores, family.structure)
        assert torch.equal(found.structures[:, 0], best.structures)
        known = found.scores.nan_to_num(neginf=-1e9)
        assert (known.diff(dim=-1) <= 1e-12).all()
        for each, kept in zip(found.structures, found.scores.isfinite(), strict=True):
            assert len(each[kept].unique(dim=0)) == kept.sum()


@every_family
def test_an_instance_does_not_depend_on_its_batch(name: str) -> None:
    """Nor on threads, dtype or the order of instances, whose sizes differ."""
    family = FAMILIES[name]
    scores, lengths = batch_of(family)
    few = scores.float()
    threads = sp.get_num_threads()
    try:
        sp.set_num_threads(1)
        one = sp.kbest(few, family.structure, 5, lengths=lengths)
        sp.set_num_threads(3)
        back = sp.kbest(few.flip(0), family.structure, 5, lengths=lengths.flip(0))
    finally:
        sp.set_num_threads(threads)
    assert torch.equal(one.structures, back.structures.flip(0))
    assert torch.equal(one.scores, back.scores.flip(0))
    exact = sp.kbest(few.double(), family.structure, 5, lengths=lengths)
    assert one.scores.dtype == torch.float32
    assert torch.equal(one.structures, exact.structures)
    assert torch.equal(one.scores, exact.scores.float())
    alone = sp.kbest(few[4:5], family.structure, 5, lengths=lengths[4:5])
    assert torch.equal(alone.structures, one.structures[4:5])


def test_a_bound_on_children_that_never_binds() -> None:
    """By the chart, and with few structures by the oracle."""
    scores = draw_scores("normal", 3, (12, 13), seed=5)
    bounded = sp.DependencyTrees(projective=True, max_children=11)
    for k in (3, 40):
        found = sp.kbest(scores, bounded, k)
        expected = sp.kbest(scores, sp.DependencyTrees(projective=True), k)
        assert torch.equal(found.structures, expected.structures)
        assert torch.equal(found.scores, expected.scores)


def test_lists_as_long_as_a_chain() -> None:
    scores = draw_scores("normal", 1, (20_000, 2, 3), seed=0)
    found = sp.kbest(scores, sp.LinearChain(), 5)
    assert (found.scores.diff() <= 1e-9).all()
    assert len(found.structures[0].unique(dim=0)) == 5


def test_a_large_k_takes_room_for_what_there_is() -> None:
    scores = draw_scores("normal", 2, (2, 2), seed=0)
    found = sp.kbest(scores, sp.Matching(), 3_000_000)  # their parts would take 192 MB
    few = sp.kbest(scores, sp.Matching(), 3)
    assert torch.equal(found.structures[:, :3], few.structures)
    assert torch.equal(found.scores[:, :3], few.scores)
    assert (found.scores[:, 2:] == -torch.inf).all()


def test_totals_that_half_precision_cannot_hold() -> None:
    scores = torch.full((1, 40, 41), -2000.0, dtype=torch.float16)
    found = sp.kbest(scores, sp.DependencyTrees(), 2)
    assert found.scores.tolist() == [[-torch.inf, -torch.inf]]
    assert not torch.equal(*found.structures[0])


def test_no_instances() -> None:
    found = sp.kbest(torch.zeros(0, 3, 4), sp.DependencyTrees(), 2)
    assert found.structures.shape == (0, 2, 3)
    assert found.scores.shape == (0, 2)


def test_what_cannot_be_asked() -> None:
    scores = torch.zeros(2, 3, 4)
    with pytest.raises(ValueError, match=r"kbest: k = 1000000000 .* of shape \(3,\) .* of 2 inst"):
        sp.kbest(scores, sp.DependencyTrees(), 10**9)
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        sp.kbest(scores, sp.DependencyTrees(), 0)
    with pytest.raises(ValueError, match="expected a family with a k-best algorithm, got Seats"):
        sp.kbest(scores[:, 0], Seats(), 2)
    scores[1] = -torch.inf
    with pytest.raises(ValueError, match="instance 1 has no structure left"):
        sp.kbest(scores, sp.DependencyTrees(), 2)
