"""What all native families refuse: scores of another shape than their own."""

import re

import pytest
import torch

import sparsewood as sp

# What is expected, and shapes that are not that.
WRONG: list[tuple[sp.Structure, str, list[tuple[int, ...]]]] = [
    (sp.Alignment(), "(B, n, m)", [(3, 4), (2, 3, 4, 1), (2, 0, 3), (2, 3, 0)]),
    (sp.Matching(), "(B, n, m)", [(3, 4), (2, 3, 4, 1), (2, 0, 3), (2, 3, 0)]),
    (
        sp.DependencyTrees(),
        "(B, n, n + 1)",
        [(2, 3, 3), (3, 4), (2, 3, 4, 1), (2, 4, 3), (2, 0, 1)],
    ),
    (
        sp.LabelledDependencyTrees(),
        "(B, n, n + 1, L)",
        [(2, 3, 4), (2, 3, 3, 2), (2, 3, 4, 0), (2, 0, 1, 2)],
    ),
    (sp.BinaryTrees(), "(B, n, n)", [(2, 3), (2, 3, 4), (2, 0, 0), (2, 3, 3, 1)]),
    (
        sp.BinaryTrees(labelled=True),
        "(B, n, n, L)",
        [(2, 3, 3), (2, 3, 4, 1), (2, 3, 3, 0), (2, 3, 3, 1, 1)],
    ),
    (sp.SpanningTrees(), "(B, n, n)", [(2, 3, 4), (3, 3), (2, 3, 3, 1), (2, 1, 1)]),
    (sp.SemiMarkov(3), "(B, T, K, 3 + K)", [(2, 4, 2, 4), (2, 4, 5), (2, 0, 2, 5), (2, 4, 0, 3)]),
]


@pytest.mark.parametrize(("structure", "expected", "shapes"), WRONG, ids=str)
def test_wrong_shapes(
    structure: sp.Structure, expected: str, shapes: list[tuple[int, ...]]
) -> None:
    for shape in shapes:
        message = f"expected {re.escape(expected)} .*{re.escape(str(shape))}"
        with pytest.raises(ValueError, match=message):
            structure.validate(torch.zeros(shape))
