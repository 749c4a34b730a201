"""The data of a live figure: one instance of every family, cut to its size, with names."""

import math

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.draw._names import Names
from sparsewood.draw._problem import PARTS_MAX, FigureProblem, problem
from sparsewood.structures.base import Structure

FAMILIES = [  # structure, parts of a batch, lengths, parts of the instance, picture, noun, part
    (sp.DependencyTrees(), (5, 6), 3, (3, 4), "arcs", "tree", "arc"),
    (sp.DependencyTrees(projective=True, max_children=2), (5, 6), 1, (1, 2), "arcs", "tree", "arc"),
    (sp.LabelledDependencyTrees(), (4, 5, 3), 2, (2, 3, 3), "arcs", "tree", "arc"),
    (sp.SpanningTrees(), (5, 5), 3, (3, 3), "edges", "tree", "edge"),
    (sp.LinearChain(), (4, 2, 3), 1, (1, 2, 3), "tags", "tagging", "tag"),
    (sp.SemiMarkov(3), (4, 2, 5), 2, (2, 2, 5), "segments", "segmentation", "segment"),
    (sp.BinaryTrees(), (4, 4), 2, (2, 2), "brackets", "tree", "span"),
    (sp.BinaryTrees(labelled=True), (4, 4, 3), 3, (3, 3, 3), "brackets", "tree", "span"),
    (sp.Matching(), (4, 5), (2, 3), (2, 3), "links", "matching", "link"),
    (sp.Transport(2, 3), (3, 2), (3, 2), (3, 2), "links", "transport", "link"),
    (sp.Alignment(), (4, 5), (3, 2), (3, 2), "links", "alignment", "link"),
    (sp.Alignment(steps="speech"), (4, 5), (2, 4), (2, 4), "links", "alignment", "link"),
    (sp.Simplex(), (5,), 3, (3,), "items", "choice", "item"),
    (sp.Subset(2), (5,), 4, (4,), "items", "set", "item"),
    (sp.Hypercube(), (5,), 2, (2,), "items", "set", "item"),
]


@pytest.mark.parametrize(
    ("structure", "parts", "length", "shape", "picture", "noun", "part"), FAMILIES
)
def test_an_instance_is_cut_to_its_size(
    structure: Structure,
    parts: tuple[int, ...],
    length: int | tuple[int, ...],
    shape: tuple[int, ...],
    picture: str,
    noun: str,
    part: str,
) -> None:
    scores = torch.randn(2, *parts, generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor([length, length])
    scores[~structure.reads(scores, lengths)] = math.nan
    data = problem(scores, structure, lengths, 1, Names()).data()
    assert (data["picture"], data["noun"], data["part"]) == (picture, noun, part)
    assert tuple(data["shape"]) == shape
    assert len(data["scores"]) == math.prod(shape)
    assert data["size"] == ([length] if isinstance(length, int) else list(length))
    native = structure.native
    assert native is not None
    assert (data["family"], data["options"]) == (native.name, [int(o) for o in native.options])

    numbers = [-math.inf if score is None else score for score in data["scores"]]
    table = torch.tensor(numbers, dtype=torch.float64).reshape(shape)
    alone = sp.sparsemap(table, structure)
    whole = sp.sparsemap(scores.double(), structure, lengths=lengths)[1]
    assert sorted(alone.weights.tolist()) == pytest.approx(sorted(whole.weights.tolist()), abs=1e-9)
    assert list(alone.structures.shape[1:]) == data["event"]


def test_scores_keep_every_digit_and_forget_their_graph() -> None:
    scores = torch.rand(3, 4, dtype=torch.float64, requires_grad=True)
    data = problem(scores, sp.DependencyTrees(), None, 0, Names()).data()
    kept = torch.tensor([score or 0 for score in data["scores"]], dtype=torch.float64)
    read = sp.DependencyTrees().reads(scores[None])[0]
    assert torch.equal(kept.reshape(3, 4)[read], scores.detach()[read])
    assert [data["scores"][i] for i in (1, 6, 11)] == [None] * 3  # from a word to itself


def test_forbidden_by_the_structure() -> None:
    data = problem(torch.zeros(3, 4), sp.DependencyTrees(root=2), None, 0, Names()).data()
    assert [score is None for score in data["scores"]][:4] == [True, True, False, False]


def test_names_are_those_given_or_numbers() -> None:
    given = torch.tensor([[2, 1], [0, 0], [-1, -1]])
    names = Names(("a", "b"), labels=("x", "y"), given=given)
    scores, lengths = torch.zeros(1, 3, 4, 2), torch.tensor([2])
    data = problem(scores, sp.LabelledDependencyTrees(), lengths, 0, names).data()
    assert (data["words"], data["labels"], data["other"]) == (["a", "b"], ["x", "y"], None)
    assert data["given"] == [2, 1, 0, 0]
    data = problem(torch.zeros(2, 3), sp.Matching(), None, 0, Names()).data()
    assert (data["words"], data["other"], data["given"]) == (["0", "1"], ["0", "1", "2"], None)


def bad(
    message: str, scores: Tensor, structure: Structure, names: Names, instance: int = 0
) -> None:
    with pytest.raises(ValueError, match=message):
        problem(scores, structure, None, instance, names)


def test_what_does_not_fit_is_named() -> None:
    trees, arcs = sp.DependencyTrees(), torch.zeros(2, 3, 4)
    bad("live: words: expected 3 names, got 2", arcs, trees, Names(("a", "b")))
    bad("live: labels: expected None: DependencyTrees", arcs, trees, Names(labels=("a",)))
    bad("live: given: expected .3,., got .2,.", arcs, trees, Names(given=[0, 1]))
    bad("live: given heads: word 1 of 3 has head 4", arcs, trees, Names(given=[4, 0, 0]))
    bad("live: given: expected .3,. integers", arcs, trees, Names(given=["a", "b", "c"]))  # type: ignore[list-item]
    bad("live: instance 2 exceeds the batch shape .2,.", arcs, trees, Names(), 2)
    bad("arc scores: expected", torch.zeros(3, 3), trees, Names())
    bad("has no labels", torch.zeros(3, 3), sp.BinaryTrees(), Names(labels=("a",)))
    bad("label 3 at 1", torch.zeros(2, 3, 4), sp.LinearChain(), Names(given=[0, 3]))
    hole = arcs.clone()
    hole[1, 0, 2] = math.nan
    bad("scores.1, 0, 2. is nan", hole, trees, Names())

    bad("expected a family with a native oracle, got AtMostOne", hole, sp.AtMostOne(), Names())


def test_costs_have_no_live_figure() -> None:
    with pytest.raises(ValueError, match="which cannot be dragged above 0; draw its posterior"):
        problem(-torch.ones(1, 3, 3), sp.GridPaths(), None, 0, Names())


def test_what_is_too_large_has_no_scores() -> None:
    large = problem(torch.zeros(150, 151), sp.DependencyTrees(), None, 0, Names())
    assert "22,650 parts: an interactive figure has at most 120 words" in large.too_large
    assert large.data()["scores"] is None
    few = FigureProblem(sp.Hypercube(), torch.zeros(PARTS_MAX + 1), (100,), Names(), "set")
    assert few.too_large
