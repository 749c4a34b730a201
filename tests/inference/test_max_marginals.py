"""Max-marginals of every family, against all structures."""

import sys

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import sparsewood as sp
from sparsewood.testing import draw_scores
from sparsewood.testing.reference import totals
from tests.fuzz.families import FAMILIES
from tests.fuzz.family import Family
from tests.seats import Seats

# Families that take costs alone are refused: their oracle answers no scores above 0.
ASKED = {name: family for name, family in FAMILIES.items() if not family.structure.costs_only}
families = pytest.mark.parametrize("family", ASKED.values(), ids=ASKED)


def enumerated(scores: Tensor, columns: Tensor) -> Tensor:
    """(*parts), given the scores of one instance and all structures (count, *parts)."""
    scored = totals(scores.flatten()[None], columns.flatten(1))[0]
    allowed = columns[scored > -torch.inf]
    each = scored[scored > -torch.inf].view(-1, *[1] * scores.ndim).expand(allowed.shape)
    most = allowed.amax(0)  # 1, or 0 if no structure uses the part, unless parts are numbers
    return torch.where((allowed == most) & (most > 0), each, -torch.inf).amax(0)


def columns_of(family: Family, inner: tuple[int, ...], outer: tuple[int, ...]) -> Tensor:
    columns = torch.from_numpy(family.members(inner, outer).columns)
    return columns.reshape(-1, *family.shape(*outer))


def possible(scores: Tensor, columns: Tensor) -> bool:
    return bool((totals(scores.flatten()[None], columns.flatten(1)) > -torch.inf).any())


@families
@pytest.mark.parametrize("kind", ["normal", "integers", "equal", "large", "forbidden"])
def test_every_family(family: Family, kind: str) -> None:
    for size in family.sizes:
        columns = columns_of(family, size, size)
        drawn = draw_scores(kind, 6, family.shape(*size), seed=1)
        scores = torch.stack([x if possible(x, columns) else torch.zeros_like(x) for x in drawn])
        found = sp.max_marginals(scores, family.structure)
        expected = torch.stack([enumerated(x, columns) for x in scores])
        scale = float(scores[scores.isfinite()].abs().amax())
        assert_close(found, expected, rtol=1e-12, atol=1e-12 * (1 + scale))


@families
def test_lengths_and_padding(family: Family) -> None:
    if family.lengths == 0:
        pytest.skip("it has no lengths")
    outer = family.sizes[-1]
    inner = [size for size in family.sizes if family.fits(size, outer)]
    shape = family.shape(*outer)
    scores = draw_scores("normal", len(inner), shape, seed=2)
    lengths = torch.tensor([size[: family.lengths] for size in inner])
    lengths = lengths.squeeze(1) if family.lengths == 1 else lengths
    scores = scores.masked_fill(~family.structure.reads(scores, lengths), torch.nan)
    found = sp.max_marginals(scores, family.structure, lengths=lengths)
    for x, size, best in zip(scores, inner, found, strict=True):
        assert_close(best, enumerated(x, columns_of(family, size, outer)))


@pytest.mark.parametrize(
    ("structure", "shape"),
    [
        (sp.DependencyTrees(), (4, 5)),
        (sp.LinearChain(), (4, 2, 3)),
        (sp.Matching(partial=True), (3, 4)),
        (Seats(), (5,)),
    ],
    ids=str,
)
class TestOfAnyFamily:
    """Checks that do not depend on the algorithm of a family."""

    def test_the_best_is_map(self, structure: sp.Structure, shape: tuple[int, ...]) -> None:
        scores = draw_scores("normal", 4, shape, seed=3)
        best = sp.map(scores, structure)
        found = sp.max_marginals(scores, structure)
        assert_close(found.flatten(1).amax(-1), best.scores)
        used = structure.indicator(best.structures, shape).bool()
        assert_close(found[used], best.scores.repeat_interleave(used.flatten(1).sum(-1)))

    def test_batch_dimensions(self, structure: sp.Structure, shape: tuple[int, ...]) -> None:
        flat = draw_scores("normal", 6, shape, seed=4)
        whole = sp.max_marginals(flat, structure)
        for batch in ((2, 3), (6, 1)):
            deep = sp.max_marginals(flat.reshape(*batch, *shape), structure)
            assert torch.equal(deep, whole.reshape(*batch, *shape))
        assert torch.equal(sp.max_marginals(flat[0], structure), whole[0])
        assert sp.max_marginals(flat[:0], structure).shape == (0, *shape)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    def test_dtypes(
        self, structure: sp.Structure, shape: tuple[int, ...], dtype: torch.dtype
    ) -> None:
        scores = draw_scores("normal", 2, shape, seed=5).to(dtype)
        found = sp.max_marginals(scores, structure)
        assert found.dtype == dtype
        assert torch.equal(found, sp.max_marginals(scores.double(), structure).to(dtype))

    def test_derivatives(self, structure: sp.Structure, shape: tuple[int, ...]) -> None:
        scores = draw_scores("normal", 2, shape, seed=6).requires_grad_()
        there = sp.max_marginals(scores, structure).isfinite()

        def finite(x: Tensor) -> Tensor:
            return sp.max_marginals(x, structure)[there]

        assert torch.autograd.gradcheck(finite, scores)
        slope = torch.func.grad(lambda x: finite(x).sum())(scores.detach())
        assert torch.equal(slope, torch.autograd.grad(finite(scores).sum(), scores)[0])

    def test_forbidden_parts_have_no_gradient(
        self, structure: sp.Structure, shape: tuple[int, ...]
    ) -> None:
        scores = draw_scores("normal", 2, shape, seed=7)
        reads = structure.reads(scores)
        scores = scores.masked_fill(~reads, torch.nan)
        at = (1, *reads[1].nonzero()[0].tolist())
        scores[at] = -torch.inf
        leaf = scores.requires_grad_()
        found = sp.max_marginals(leaf, structure)
        assert found[at] == -torch.inf
        (slope,) = torch.autograd.grad(torch.where(found > -torch.inf, found, 0).sum(), leaf)
        assert slope.isfinite().all()
        assert slope[at] == 0
        assert not slope[~reads].any()

    def test_bad_scores_are_named(self, structure: sp.Structure, shape: tuple[int, ...]) -> None:
        scores = draw_scores("normal", 3, shape, seed=8)
        part = tuple(structure.reads(scores)[1].nonzero()[0].tolist())
        scores[(1, *part)] = torch.nan
        with pytest.raises(ValueError, match=r"scores\[1, "):
            sp.max_marginals(scores, structure)


def test_an_instance_without_a_structure() -> None:
    for structure, shape in ((sp.DependencyTrees(), (3, 4)), (sp.LinearChain(), (3, 2, 3))):
        scores = torch.zeros(2, *shape)
        scores[1, 2] = -torch.inf
        with pytest.raises(ValueError, match="instance 1 has no structure left"):
            sp.max_marginals(scores, structure)


def test_an_empty_structure_is_left() -> None:
    scores = torch.full((1, 2, 2), -torch.inf)
    assert sp.max_marginals(scores, sp.Matching(partial=True)).tolist() == scores.tolist()


def test_the_oracle_is_asked_for_what_is_not_best() -> None:
    scores = draw_scores("normal", 2, (4, 5), seed=9)
    with sp.count_calls() as calls:
        sp.max_marginals(scores, sp.DependencyTrees())
    assert calls.map == 2 * (1 + 4 * 4 - 4)
    with sp.count_calls() as calls:
        sp.max_marginals(draw_scores("normal", 2, (4, 2, 3), seed=9), sp.LinearChain())
    assert calls.map == 2


def test_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = draw_scores("normal", 3, (4, 5), seed=10)
    lengths = torch.tensor([4, 2, 3])
    whole = sp.max_marginals(scores, sp.DependencyTrees(), lengths=lengths)
    module = sys.modules["sparsewood.inference.max_marginals"]  # the name leads to the function
    monkeypatch.setattr(module, "_PARTS", 100)
    again = sp.max_marginals(scores, sp.DependencyTrees(), lengths=lengths)
    assert torch.equal(again, whole)


def test_scores_of_the_largest_size() -> None:
    scores = draw_scores("normal", 2, (3, 3), seed=11)
    found = sp.max_marginals(scores * 1e199, sp.Matching())
    assert_close(found / 1e199, sp.max_marginals(scores, sp.Matching()))


def test_an_oracle_that_fails_names_the_instance() -> None:
    class Shy(Seats, arrays="numpy", parts_ndim=1):
        def best(self, scores):
            if scores.max() > 50:
                raise KeyError("too bright")
            return super().best(scores)

    scores = torch.zeros(3, 4)
    scores[2] = 9.0
    with pytest.raises(sp.OracleError, match="instance 2: .*too bright"):
        sp.max_marginals(scores, Shy())


def test_costs_alone_are_refused() -> None:
    with pytest.raises(ValueError, match="max_marginals needs them for other scores"):
        sp.max_marginals(-torch.ones(1, 2, 2), sp.GridPaths())
