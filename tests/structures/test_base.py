"""All native families reject scores of a wrong shape."""

import re

import pytest
import torch

import sparsewood as sp
from sparsewood.structures import _kernels

# The expected shape, and invalid shapes.
WRONG: list[tuple[sp.Structure, str, list[tuple[int, ...]]]] = [
    (sp.Alignment(), "(*batch, n, m)", [(3, 4), (2, 3, 4, 1), (2, 0, 3), (2, 3, 0)]),
    (sp.Matching(), "(*batch, n, m)", [(3, 4), (2, 3, 4, 1), (2, 0, 3), (2, 3, 0)]),
    (sp.Transport(1, 1), "(*batch, n, m)", [(3, 4), (2, 3, 4, 1), (2, 0, 3), (2, 3, 0)]),
    (
        sp.DependencyTrees(),
        "(*batch, n, n + 1)",
        [(2, 3, 3), (3, 4), (2, 3, 4, 1), (2, 4, 3), (2, 0, 1)],
    ),
    (
        sp.LabelledDependencyTrees(),
        "(*batch, n, n + 1, L)",
        [(2, 3, 4), (2, 3, 3, 2), (2, 3, 4, 0), (2, 0, 1, 2)],
    ),
    (sp.BinaryTrees(), "(*batch, n, n)", [(2, 3), (2, 3, 4), (2, 0, 0), (2, 3, 3, 1)]),
    (
        sp.BinaryTrees(labelled=True),
        "(*batch, n, n, L)",
        [(2, 3, 3), (2, 3, 4, 1), (2, 3, 3, 0), (2, 3, 3, 1, 1)],
    ),
    (sp.SpanningTrees(), "(*batch, n, n)", [(2, 3, 4), (3, 3), (2, 3, 3, 1), (2, 1, 1)]),
    (
        sp.SemiMarkov(3),
        "(*batch, T, K, 3 + K)",
        [(2, 4, 2, 4), (2, 4, 5), (2, 0, 2, 5), (2, 4, 0, 3)],
    ),
]


@pytest.mark.parametrize(("structure", "expected", "shapes"), WRONG, ids=str)
def test_wrong_shapes(
    structure: sp.Structure, expected: str, shapes: list[tuple[int, ...]]
) -> None:
    for shape in shapes:
        message = f"expected {re.escape(expected)} .*{re.escape(str(shape))}"
        with pytest.raises(ValueError, match=message):
            structure.validate(torch.zeros(shape))


# The largest shape, and shapes that exceed it in positions, options, or total scores.
LIMITS: list[tuple[sp.Structure, tuple[int, ...], list[tuple[int, ...]]]] = [
    (sp.DependencyTrees(), (32_767, 32_768), [(32_768, 32_769)]),
    (sp.DependencyTrees(projective=True), (32_767, 32_768), [(32_768, 32_769)]),
    (sp.DependencyTrees(projective=True, max_children=21), (32_767, 32_768), [(32_768, 32_769)]),
    (sp.LabelledDependencyTrees(), (32_766, 32_767, 1), [(32_767, 32_768, 1), (99, 100, 328)]),
    (sp.BinaryTrees(), (32_767, 32_767), [(32_768, 32_768)]),
    (
        sp.BinaryTrees(labelled=True),
        (5, 5, 32_766),
        [(32_768, 32_768, 1), (5, 5, 32_767), (32_767, 32_767, 2)],
    ),
    (sp.SpanningTrees(), (30_000, 30_000), [(30_001, 30_001)]),
    (sp.LinearChain(), (2**29, 1, 2), [(2**29 + 1, 1, 2), (2, 182, 183), (40_000, 181, 182)]),
    (sp.SemiMarkov(3), (2**28, 1, 4), [(2**28 + 1, 1, 4), (2, 180, 183)]),
    (sp.Matching(), (30_000, 30_000), [(30_001, 2), (2, 30_001)]),
    (sp.Transport(9, 9), (30_000, 30_000), [(30_001, 2), (2, 30_001)]),
    (sp.Alignment(), (30_000, 30_000), [(30_001, 2), (2, 30_001)]),
    (sp.Alignment(gaps=True), (30_000, 30_000), [(30_001, 2), (2, 30_001)]),
    (sp.Alignment(steps="speech"), (30_000, 30_000), [(30_001, 2), (2, 30_001)]),
    (sp.GridPaths(), (2, 30_000), [(30_001, 2), (2, 30_001)]),
    (sp.Paths([[0, 1], [0, 1]], 0, 1), (2,), []),  # the graph has the number of edges
    (sp.Subset(3), (30_000,), [(30_001,)]),
    (sp.Hypercube(), (30_000,), [(30_001,)]),
    (sp.Simplex(), (30_000,), [(30_001,)]),
    (sp.Rankings(), (30_000,), [(30_001,)]),
]


def test_every_family_has_a_limit() -> None:
    limited = {structure.native.name for structure, *_ in LIMITS if structure.native is not None}
    assert limited == set(_kernels.FAMILIES)


@pytest.mark.parametrize(
    ("structure", "most", "more"), LIMITS, ids=[repr(one[0]) for one in LIMITS]
)
def test_instances_that_are_too_large(
    structure: sp.Structure, most: tuple[int, ...], more: list[tuple[int, ...]]
) -> None:
    """Rejected before anything is copied: expanded scores take no memory."""
    structure.validate(torch.zeros(()).expand(1, *most))
    for shape in more:
        scores = torch.zeros(()).expand(1, *shape)
        for call in (sp.map, sp.sparsemap):
            with pytest.raises(ValueError, match=re.escape(str(tuple(scores.shape)))) as refused:
                call(scores, structure)
            assert re.search("at most|from 1 to|with 1 to|with 2 to", str(refused.value))


def test_a_chart_that_no_memory_holds() -> None:
    scores = torch.zeros(()).expand(1, 32_767, 32_768)
    for most, found in ((22, "1.1e+12"), (40_000, "2.3e+18")):
        trees = sp.DependencyTrees(projective=True, max_children=most)
        told = f"max_children = {most}: the chart for 32767 words has {found} entries"
        with pytest.raises(ValueError, match=re.escape(told)):
            sp.map(scores, trees)
